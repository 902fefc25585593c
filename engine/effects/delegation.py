"""Gives work away: starts the children that a run waits for, has them driven, and reports those that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.effects import files
from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.effects.children import Children
    from engine.handle import Handle


def perform(db: Handle, token: str | None, children: Children, run_id: int) -> None:
    """Start the children that effects of a run wait for, drive those that have not ended, and report those that have."""
    db.install("delegation")
    with db.transaction():
        for (effect_id,) in db.tuples("select effect_id from _open_delegations where run_id = ?", (run_id,)):
            db.insert("_start_delegation", effect_id=effect_id, lease=token, fault=_fault(db, effect_id))
    open_ones = db.rows("select * from _open_delegations where run_id = ?", (run_id,))
    effects = {row["child"]: row["effect_id"] for row in open_ones}

    def finish(child: str) -> None:
        for request in db.rows("select * from _scans_after_children where run = ?", (child,)):
            files.scan(db, request)
        db.insert("_finish_delegation", effect_id=effects[child], lease=token)

    for row in open_ones:
        if row["ended"]:
            finish(row["child"])
    children.drive([row["child"] for row in open_ones if not row["ended"]], finish)


def _fault(db: Handle, effect_id: int) -> str | None:
    """Why a child that an effect would have could not ask its model or its judge; None where it could."""
    for row in db.rows("select run, actual from _models_ahead where effect_id = ?", (effect_id,)):
        from engine.models import resolve_model

        try:
            db.app_models.find(row["actual"]) or resolve_model(row["actual"], db.keys_for(row["run"]))
        except EngineError as error:
            return error.message
    return None
