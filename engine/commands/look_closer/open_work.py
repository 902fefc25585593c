"""The prompts that have not ended, as commands show them, with what each waits for.

spec: @engine_status @engine_top
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.terminal.printing import one_line

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

_WAITS = {
    "person": "a decision",
    "model": "the model",
    "command": "the command",
    "run": "run",
    "prompt": "",
    "driver": "a driver",
    "engine": "the engine",
}
"""How a person reads open_work.waits_for."""


def work_of(db: Database, run: str | None = None) -> list[Row]:
    """The prompts that have not ended; a run whose driver is dead is stopped, whatever its lease says."""
    rows = db.rows("select * from open_work where run = coalesce(?, run)", (run,))
    for row in rows:
        row["driver"] = driver_of(row.pop("holder"))
        if row["state"] == "running" and row["driver"] and row["driver"]["state"] == "dead":
            row.update(state="stopped", waits_for="driver", what=None)
    return rows


def driver_of(holder: str | None) -> dict[str, Any] | None:
    """The process that drives a run: its number, and whether it is alive, dead or unknown (of another machine)."""
    from engine.system import identity

    known = identity.read_identity(holder)
    return None if known is None else {"pid": known.pid, "state": identity.state(known)}


def waits(row: Row, most: int) -> str:
    """What a prompt waits for, in words, with at most `most` characters of what it is."""
    return f"{_WAITS[row['waits_for']]} {one_line(row['what'], most)}".strip()


__all__ = ["driver_of", "waits", "work_of"]
