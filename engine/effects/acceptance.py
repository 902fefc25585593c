"""Has a result judged: drives the run of the judge, which the file made with the effect. The file reads its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.functions.limits import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.db.database import Row
    from engine.effects.children import Children
    from engine.handle import Handle

_JUDGE = "select r.alias from children as c join runs as r on r.id = c.run_id where c.effect_id = ?"


def perform(db: Handle, children: Callable[[], Children], effect: Row) -> dict[str, Any]:
    """Drive the judge of an effect to its end; raises `Stopped` where it is stopped before that: a resume goes on then."""
    judge = db.value(_JUDGE, (effect["effect_id"],))
    if judge is None:
        return {"state": "failed", "outcome": "error", "message": "the run of the judge was purged"}
    children().drive([judge])
    if db.value("select 1 from open_prompts where run = ?", (judge,)):
        raise Stopped
    return {"state": "resolved", "message": f"run {judge} has judged it"}
