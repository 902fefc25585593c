"""Looks up in the file what the events of a run do not say: the change of a file, and the plan.

spec: @live_progress
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plans import Step

if TYPE_CHECKING:
    from engine.db.database import Store

_DIFF = """
    select p.detail ->> '$.diff'
    from runs as r
    join proposals as p on p.run_id = r.id
    where r.alias = ? and p.path = ? and p.kind = 'file_write'
    order by p.id desc
    limit 1
"""
_STEPS = """
    select s.depth, s.status, s.body
    from plans as p
    join plan_steps as s on s.run = p.run and s.plan = p.plan
    where p.run = ? and p.is_shown
    order by s.line
"""


class RunFacts:
    """What is known of one run."""

    def __init__(self, db: Store, run: str) -> None:
        self._db = db
        self._run = run

    def diff(self, run: str | None, path: str) -> str | None:
        """The change that a command has made in a file."""
        found = self._db.value(_DIFF, (run or self._run, path))
        return None if found is None else str(found)

    def steps(self) -> list[Step]:
        """The steps of the plan that the run works on."""
        return [Step(*row) for row in self._db.tuples(_STEPS, (self._run,))]


__all__ = ["RunFacts"]
