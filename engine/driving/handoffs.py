"""Hands prompts over: what a prompt offers, and a handoff that an app asks for.

spec: @handoffs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.functions.compact import to_json
from engine.tools.handoffs import Handoff, handoffs_of

from .model_choice import choose_model
from .run_tools import chosen_names

if TYPE_CHECKING:
    from engine.handle import Handle

_PERSONA = """
    insert into personas (name, body, origin) values (?, ?, 'own')
    on conflict (name) do update set body = excluded.body where body <> excluded.body
"""


def offered(db: Handle, given: object, run: str | None) -> str | None:
    """The option `handoffs` of a prompt, as JSON. Raises what the model or a tool of one of them raises."""
    listed = handoffs_of(given)
    return to_json([_row(db, each, run) for each in listed]) if listed else None


def keep_personas(db: Handle, given: object) -> None:
    """Store the personas that come with their text."""
    for each in handoffs_of(given):
        if each.instructions is not None:
            db.execute(_PERSONA, (each.persona, each.instructions))


def hand_over(db: Handle, run: str, to: Handoff, note: str) -> None:
    """Hand the open prompt of `run` over."""
    row = _row(db, to, run)
    with db.transaction():
        keep_personas(db, [to])
        columns = {"persona": to.persona, "model": row.get("model"), "tools": row.get("tools"), "body": note}
        db.insert("verb_hand_over", run=run, **columns)


def _row(db: Handle, each: Handoff, run: str | None) -> dict[str, Any]:
    named = db.app_models.name(each.model)
    columns = {
        "persona": each.persona,
        "when": each.when or None,
        "model": choose_model(db, run, named) if named else None,
        "tools": chosen_names(db, each.tools),
    }
    return {name: value for name, value in columns.items() if value is not None}
