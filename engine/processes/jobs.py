"""The background commands of a run, as its driver sees them: its own end with it, those that were kept outlive it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.db.connections import MEMORY
from engine.errors import ValidationError
from engine.processes.watched import TO_END, Job, Watched

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.processes.channels import OnBytes
    from engine.processes.confinement import Place
    from engine.processes.kept_output import KeptOutput

    from .outputs import Outputs


class Jobs:
    """The background commands of the run `run_id`, whose driver has a lease with the token `token`. Its methods are called
    by that driver, and outside of any transaction.
    """

    def __init__(
        self, db: Outputs, run_id: int, token: str | None, stopped: threading.Event, kept: KeptOutput | None
    ) -> None:
        if str(db.path) == MEMORY:
            raise ValidationError("a database in memory cannot run background commands; leave out background")
        self._db = db
        self._run_id = run_id
        self._token = token
        self._stopped = stopped
        self._kept = kept
        self._own = Watched()

    def start(self, effect: Row, place: Place, timeout_s: float, on_bytes: OnBytes | None) -> Mapping[str, Any]:
        """Start the command of an effect, and wait until that is recorded; returns the columns of its `_finish_effect`."""
        self.await_ends()
        if json.loads(effect["detail"]).get("keep") is not None:
            # what ends it is not this driver
            job = Job(effect, place, self._token, timeout_s, threading.Event(), self._kept, on_bytes)
            row = self._db.kept_jobs.start(self._db, job)
            if row is not None:
                return row
        row = self._own.start(self._db, Job(effect, place, self._token, timeout_s, self._stopped, self._kept, on_bytes))
        assert row is not None, "the driver is at work"
        return row

    def any_to_end(self) -> bool:
        """Whether one of them is to end, because of an rm, a request, or the end of its loop."""
        return any(self._db.value(TO_END, (effect_id,)) for _, effect_id in self._alive())

    def await_ends(self) -> None:
        """Wait for those that are to end."""
        for watched, effect_id in self._alive():
            if self._db.value(TO_END, (effect_id,)):
                watched.join(effect_id)

    def close(self) -> None:
        """End its own and wait for that."""
        self._own.close()

    def _alive(self) -> list[tuple[Watched, int]]:
        kept = self._db.kept_jobs.watched
        return [
            (watched, effect_id)
            for watched in (self._own, kept)
            if watched is not None
            for effect_id in watched.alive(self._run_id)
        ]
