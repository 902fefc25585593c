"""Records processes as interrupted whose engine is dead: else that waits until their run is driven again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.identity import read_identity, state

from .processes import kill_leftover

if TYPE_CHECKING:
    from engine.database import Row, Store

_ENDS = {"finish_effect": {"state": "failed", "outcome": "interrupted"}, "finish_job": {"outcome": "interrupted"}}


def heal(db: Store) -> None:
    """End what is left of processes that no engine watches any more, and record it, as the next driver would."""
    for process in db.rows("select * from _unfinished_processes"):
        if is_left(process):
            kill_leftover(read_identity(process["identity"]))
            with suppress(
                EngineError
            ):  # somebody else drives the run by now, or it cannot be written: then the next one does it
                db.insert(
                    process["door"], effect_id=process["effect_id"], lease=process["token"], **_ENDS[process["door"]]
                )


def is_left(process: Row) -> bool:
    """Whether the engine that started a process is provably dead: one that ends by itself ends its processes first."""
    holder = read_identity(process["holder"])
    return holder is not None and state(holder) == "dead"
