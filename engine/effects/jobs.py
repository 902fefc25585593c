"""Commands that run on in the background: each is watched by a thread, which stores what it prints and how it ends.

They write through one handle of their own on the file, in transactions of one row, and never hold up the driver's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.connections import MEMORY
from engine.errors import EngineError, ValidationError

from .perform import Asked, process_row
from .processes import ProcessResult, run_process

if TYPE_CHECKING:
    from engine.api import Database
    from engine.database import Row, Store
    from engine.identity import ProcessIdentity

    from .channels import OnBytes
    from .confining import Place
    from .kept_output import KeptOutput

_TO_END = "select why from _jobs_to_end where effect_id = ?"
_TRIES = 6
"""How often the end of a job is written; each try waits for others who write as long as any statement does."""


class Jobs:
    """The background commands of one driver, whose lease has the token `token`. Its methods are called by that driver, and
    outside of any transaction.
    """

    def __init__(self, db: Store, token: str | None, stopped: threading.Event, kept: KeptOutput | None) -> None:
        if str(db.path) == MEMORY:
            raise ValidationError("a database in memory runs no command in the background; leave background out")
        self._driver = db
        self._db = cast("Database", db).shared()
        self._lock = threading.Lock()
        self._token = token
        self._stopped = stopped
        self._closing = threading.Event()
        self._kept = kept
        self._running: dict[int, threading.Thread] = {}

    def start(self, effect: Row, place: Place, timeout_s: float, on_bytes: OnBytes | None) -> Mapping[str, Any]:
        """Start the command of an effect, and wait until that is recorded; returns the columns of its `finish_effect`."""
        self.await_ends()
        job = _Job(effect["effect_id"])
        watch = partial(self._watch, job, effect, place, timeout_s, on_bytes)
        thread = threading.Thread(target=watch, name=f"job {job.effect_id}")
        self._running[job.effect_id] = thread  # first: a signal may end the waiting
        thread.start()
        job.settled.wait()
        if job.error is not None and not job.started:
            raise job.error
        return job.row

    def any_to_end(self) -> bool:
        """Whether one of them is to end, because of an rm, a request, or the end of its loop."""
        return any(self._driver.value(_TO_END, (effect_id,)) for effect_id in self._alive())

    def await_ends(self) -> None:
        """Wait for those that are to end."""
        for effect_id in self._alive():
            if self._driver.value(_TO_END, (effect_id,)):
                self._running[effect_id].join()

    def close(self) -> None:
        """End all of them and wait for that."""
        self._closing.set()
        for thread in self._running.values():
            thread.join()
        self._running.clear()
        self._db.close()

    def _alive(self) -> list[int]:
        return [effect_id for effect_id, thread in self._running.items() if thread.is_alive()]

    def _watch(self, job: _Job, effect: Row, place: Place, timeout_s: float, on_bytes: OnBytes | None) -> None:
        asked = _Ending(self._stopped, self._closing, partial(self._value, _TO_END, job.effect_id))
        try:
            with place.confine() as confined:
                result = run_process(
                    json.loads(effect["detail"])["command"],
                    cwd=Path(effect["root"]),
                    timeout_s=timeout_s,
                    on_start=partial(self._started, job),
                    on_output=partial(self._print, job),
                    cancelled=asked,
                    max_output=effect["max_output"],
                    confined=confined,
                    on_bytes=on_bytes,
                    follows=True,
                )
            if job.started and result.ended == "cancelled":  # the record says why
                result = replace(result, message="")
            row = process_row(result, confined.refused if confined else [], place.told, self._kept)
            self._end(job, row, result)
        except BaseException as error:  # told by the driver, or in the record of the job
            job.error = error
            if job.started:
                self._break(job, error)
        finally:
            job.settled.set()

    def _started(self, job: _Job, identity: ProcessIdentity) -> None:
        self._insert("start_job", effect_id=job.effect_id, identity=identity.to_json(), lease=self._token)
        job.started = True
        job.settled.set()

    def _print(self, job: _Job, channel: int, text: str) -> None:
        self._insert("append_job_output", effect_id=job.effect_id, channel=channel, text=text, lease=self._token)

    def _end(self, job: _Job, row: dict[str, Any], result: ProcessResult) -> None:
        """Record the end; of a command that did not start the driver does that."""
        if not job.started:
            job.row = row
            return
        outcome = None if result.ended == "exited" else row["outcome"]
        self._finish(job, outcome, result.exit_code, row["detail"])

    def _break(self, job: _Job, error: BaseException) -> None:
        """Record that a job ended because it could not be watched any more, where even that can be written."""
        note = error.message if isinstance(error, EngineError) else type(error).__name__
        try:
            self._finish(job, "error", None, json.dumps({"note": f"it was stopped: {note}"}))
        except EngineError:
            return  # whoever drives the run next finds it without an end

    def _finish(self, job: _Job, outcome: str | None, exit_code: int | None, detail: str) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                self._insert(
                    "finish_job",
                    effect_id=job.effect_id,
                    outcome=outcome,
                    exit_code=exit_code,
                    detail=detail,
                    lease=self._token,
                )
                return
            except EngineError:
                if not tries_left or self._stopped.is_set():
                    raise

    def _insert(self, door: str, **columns: Any) -> None:
        with self._lock:
            self._db.insert(door, **columns)

    def _value(self, query: str, effect_id: int) -> str | None:
        with self._lock:
            found: str | None = self._db.value(query, (effect_id,))
            return found


class _Job:
    """A background command as its thread and its driver see it. `settled` is set once it was started, or was not."""

    def __init__(self, effect_id: int) -> None:
        self.effect_id = effect_id
        self.settled = threading.Event()
        self.started = False
        self.error: BaseException | None = None
        self.row: Mapping[str, Any] = {"state": "resolved"}


class _Ending(Asked):
    """Whether a job shall end: as for any process, or because its driver closes."""

    def __init__(self, stopped: threading.Event, closing: threading.Event, asks: Callable[[], str | None]) -> None:
        super().__init__(stopped, asks)
        self._closing = closing

    def is_set(self) -> bool:
        return self._closing.is_set() or super().is_set()
