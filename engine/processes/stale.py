"""Records processes as interrupted whose engine is dead: else that waits until their run is driven again."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.processes import claims
from engine.processes.shell import kill_leftover
from engine.system.identity import read_identity, state, this_process

if TYPE_CHECKING:
    from engine.db.database import Row, Store

_DOORS = {"process": "_finish_effect", "job": "_finish_job"}
_ENDS = {"process": {"state": "failed", "outcome": "interrupted"}, "job": {"outcome": "interrupted"}}
_CANCELLED = "select 'stopped by ' || asked_by || coalesce(': ' || reason, '') from process_cancels where effect_id = ?"


def heal(db: Store) -> None:
    """End what is left of processes that no engine watches any more, and record it, as the next driver would.

    Commands that a client was to carry out whose server is dead are left to the next driver.
    """
    claims.release_those_of_the_dead(db)
    for process in db.rows("select * from _unfinished_processes"):
        if is_left(db, process):
            kill_leftover(read_identity(process["identity"]))
            door, end = _DOORS[process["kind"]], _end(db, process)
            with suppress(
                EngineError
            ):  # somebody else drives the run by now, or it cannot be written: the next one does it
                db.insert(door, effect_id=process["effect_id"], lease=process["token"], **end)


def _end(db: Store, process: Row) -> dict[str, str]:
    """How a process ended that was left: interrupted, or stopped by whoever asked for that."""
    end = _ENDS[process["kind"]]
    if process["kind"] == "process" and (why := db.value(_CANCELLED, (process["effect_id"],))):
        return {**end, "outcome": "cancelled", "detail": json.dumps({"note": why})}
    return end


def is_left(db: Store, process: Row) -> bool:
    """Whether nobody watches a process any more.

    The engine that started it is provably dead, because one that ends by itself ends its processes first. A job that was
    kept is left, too, where that engine is this one, which could not write how it ended, and where nobody can tell whether
    that engine is alive, and it has not heeded a request to end the job.
    """
    holder = read_identity(process["holder"])
    if holder is None:
        return False
    if process["kept"] and holder == this_process():
        from engine.processes.watched import is_watched_here

        return not is_watched_here(db.place, process["effect_id"])
    found = state(holder)
    return found == "dead" or (found == "unknown" and bool(process["is_unheeded"]))
