"""Whom a prompt may be handed over to, as an app says it.

spec: @handoffs
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.models.protocol import Model
    from engine.tools.toolsets import Toolset


@dataclass(frozen=True)
class Handoff:
    """A persona that a prompt may be handed over to: `db.run(…, handoffs=[Handoff("billing", when="it is about money")])`.

    `instructions` is the text of the persona; it is needed if the database does not have the persona or has another
    text. `when` tells the model when to hand over. `model` and `tools` are those of the persona, as in `db.run`
    (default: those of the prompt).
    """

    persona: str
    instructions: str | None = None
    when: str = ""
    model: str | Model | None = None
    tools: Iterable[Callable[..., Any] | Toolset | str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.persona, str) or not self.persona:
            raise TypeError(f"Handoff: persona must be the name of a persona, not {self.persona!r}")


def handoffs_of(given: object) -> list[Handoff]:
    """The handoffs of a prompt: objects, names of personas, or the JSON that SQL takes. Raises `TypeError` for others."""
    if given is None:
        return []
    given = _read(given)
    if isinstance(given, str | Handoff) or not isinstance(given, Iterable):
        raise TypeError(f"handoffs must be a list of engine.Handoff and names of personas, not {given!r:.60}")
    found = [Handoff(each) if isinstance(each, str) else each for each in given]
    for each in found:
        if not isinstance(each, Handoff):
            raise TypeError(f"handoffs must be a list of engine.Handoff and names of personas, not of {each!r:.60}")
    return found


def _read(given: object) -> object:
    """What a text of JSON holds; anything else as it is."""
    if not isinstance(given, str):
        return given
    try:
        rows = json.loads(given)
        return [
            Handoff(each["persona"], None, each.get("when") or "", each.get("model"), _names(each.get("tools")))
            for each in rows
        ]
    except (ValueError, TypeError, LookupError, AttributeError):
        return given


def _names(tools: str | None) -> list[str] | None:
    """Names with commas between, as a list."""
    return None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]


def tools_of(tools: object, handoffs: object) -> object:
    """The tools of a prompt with those of its handoffs: what the driver has to have."""
    own = [each for handoff in handoffs_of(handoffs) for each in (handoff.tools or ()) if not isinstance(each, str)]
    if not own:
        return tools
    from engine.tools.toolsets import listed

    return [*listed(tools), *own]
