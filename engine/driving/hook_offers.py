"""Offers a run the hooks of the configuration when its driver begins: where there are none, two short files were read.

spec: @hooks
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.handle import Handle

# The door that looks is called by its name, so that the statements of turns stay small.
_LOOK = (
    "insert into _late_call (door, a) select '_hold_turn', {} "
    "where exists (select 1 from run_hooks where run_id = new.run_id)"
)
_WIRES = tuple(
    f"create temp trigger if not exists {name}\nafter {event}\nbegin\n    {_LOOK.format(turn)};\nend"
    for name, event, turn in (
        ("turns__look_for_hooks", "insert on main.turns", "new.id"),
        ("turns__look_for_hooks_again", "update of phase on main.turns", "new.id"),
        ("commands__look_for_hooks", "insert on main.commands when new.turn_id is not null", "new.turn_id"),
        (
            "commands__look_for_hooks_again",
            "update of state on main.commands when new.turn_id is not null",
            "new.turn_id",
        ),
    )
)
_HAS = "select 1 from run_hooks as h join runs as r on r.id = h.run_id where r.alias = ?"


def offer_hooks(db: Handle, run: str, token: str | None) -> None:
    """Put the hooks that count now in the place of those that an earlier driver found. Raises `ValidationError` (400)."""
    if db.config:
        from engine.config.configuration import project_folder
        from engine.config.hooks import hooks_of

        hooks = [hook for hook in hooks_of(project_folder(db.path)) if hook.counts]
    else:
        hooks = []
    if not hooks and not (db.has("hooks") and db.value(_HAS, (run,))):
        return
    db.install("hooks")
    with db.transaction():
        if hooks:
            db.add_wires(*_WIRES)
        db.insert("_offer_hook", run=run, lease=token, name=None)
        for hook in hooks:
            for point in hook.points:
                db.insert(
                    "_offer_hook",
                    run=run,
                    lease=token,
                    name=hook.name,
                    point=point,
                    tools=json.dumps(hook.tools),
                    line=hook.line,
                    timeout_s=hook.timeout_s,
                    required=int(hook.required),
                    layer=hook.layer,
                    source=str(hook.source),
                )
