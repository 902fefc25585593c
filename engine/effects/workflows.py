"""Drives the steps of a workflow: begins what the file says is ready, and tells it what has ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.packets.layout import laid_out

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.effects.children import Children
    from engine.handle import Handle

_READY = """
    select s.step, s.run_id
    from _ready_steps as s
    where s.run_id = :run
    limit (select max(0, f.free) from _free_steps as f where f.run_id = :run)
"""
_UNDER_WAY = """
    select s.step, x.child
    from step_runs as s
    join _step_results as x on x.run_id = s.run_id and x.step = s.step
    where s.run_id = :run and s.state = 'running'
    order by s.layer, s.position
"""


class Workflow:
    """The run of a workflow that the lease `token` drives; `tell` passes its events on."""

    def __init__(
        self, db: Handle, token: str | None, children: Children, tell: Callable[[], None], effect: Row
    ) -> None:
        self._db = db
        self._token = token
        self._children = children
        self._tell = tell
        self._run_id = effect["run_id"]
        self._run = str(db.value("select alias from runs where id = ?", (self._run_id,)))

    def perform(self) -> None:
        """Drive the steps until all have ended, or what is left waits for a person; end the workflow where it is over."""
        self._db.insert("_take_up_workflow", run=self._run, lease=self._token)
        for row in self._under_way():
            self._end(row["step"])
        self._begin()
        self._children.drive([row["child"] for row in self._under_way()], self._at_rest)
        if not self._children.stopping.is_set():
            self._db.insert("_end_workflow", run=self._run, lease=self._token)

    def _at_rest(self, child: str) -> list[str]:
        """Take how the run of a step has ended; returns the runs of those that begin now."""
        if self._children.stopping.is_set():
            return []
        before = {row["child"] for row in self._under_way()}
        for row in self._under_way():
            if row["child"] == child:
                self._end(row["step"])
        self._begin()  # and tells what has ended
        return [row["child"] for row in self._under_way() if row["child"] not in before]

    def _end(self, step: str) -> None:
        self._db.insert("_end_step", run=self._run, step=step, lease=self._token)

    def _begin(self) -> None:
        """Begin the steps that are ready, as many as may work at once."""
        for row in self._db.rows(_READY, {"run": self._run_id}):
            self._db.insert(
                "_start_step", run=self._run, step=row["step"], prompt=self._prompt(row["step"]), lease=self._token
            )
        self._tell()

    def _prompt(self, step: str) -> str:
        row = self._db.row("select * from _step_prompts where run_id = ? and step = ?", (self._run_id, step))
        assert row is not None, "a step that is ready has a prompt"
        return laid_out(
            "workflow_step.md.j2", step=row, variables=json.loads(row["variables"]), results=json.loads(row["results"])
        )

    def _under_way(self) -> list[Row]:
        return self._db.rows(_UNDER_WAY, {"run": self._run_id})
