"""Says which runs nobody drives although they have work: their driver was killed, interrupted, or never came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.functions.counts import counted

from .hints import db_flag
from .printing import say

if TYPE_CHECKING:
    from pathlib import Path

    from engine.api.database import Database
    from engine.db.database import Row

# A run below another one is driven with it.
_OPEN = """
    select n.run, (select count(*) from open_prompts as o where o.run = n.run) as prompts, l.holder
    from _next_steps as n
    left join run_leases as l on l.run = n.run and n.run_id not in (select o.run_id from resumable_runs as o)
    where n.step not in ('end', 'wait')
        and n.run_id not in (select c.run_id from children as c)
        and (:run is null or n.run = :run)
    order by n.run_id desc
"""
_NAMED = 5
"""So many runs are named, each on a line."""


def undriven(db: Database, run: str | None = None) -> list[Row]:
    """The runs that a resume would go on with, or the one of that name, each with the number of its open `prompts`.

    One whose driver is provably dead is among them, though its lease is still in force. In a file of another build there are
    none: this one may not drive them, nor have its views.
    """
    from engine.system import identity

    if db.differs:
        return []
    found = []
    for row in db.rows(_OPEN, {"run": run}):
        holder = identity.read_identity(row["holder"])
        if row["holder"] is None or (holder is not None and identity.state(holder) == "dead"):
            found.append(row)
    return found


def say_undriven(rows: list[Row], given: Path | None) -> None:
    """Name the command that goes on with each; `given` is the --db of the command line."""
    for row in rows[:_NAMED]:
        waits = f", {counted(row['prompts'], 'prompt waits', 'prompts wait')}" if row["prompts"] else ""
        say(
            f"{row['run']}: no process works on it{waits}; to continue: engine resume{db_flag(given)} {row['run']}",
            "yellow",
        )
    if len(rows) > _NAMED:
        say(f"and {len(rows) - _NAMED} more; 'engine runs --json' lists all of them", "yellow")
