"""Watches commands in the background: each has a thread, which stores what it prints and how it ends.

They write through one handle of their own on the file, in transactions of one row, and never hold up a driver's.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.db.database import Store
from engine.errors import EngineError
from engine.processes.ending import Asked, process_row
from engine.processes.shell import ProcessResult, run_process
from engine.system.waiting import Inbox

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.processes.channels import OnBytes
    from engine.processes.confinement import Place
    from engine.processes.kept_output import KeptOutput
    from engine.system.identity import ProcessIdentity

TO_END = "select why from _jobs_to_end where effect_id = ?"
_START_S = 1.0
"""How long is waited at a time for the start of a job."""
_TRIES = 6
"""How often the end of a job is written; each try waits for others who write as long as any statement does."""
_here: set[tuple[Path, int]] = set()
"""The jobs that this process watches: the file and the effect of each."""


def is_watched_here(place: Path, effect_id: int) -> bool:
    """Whether a thread of this process watches the job of an effect in the file at `place`."""
    return (place, effect_id) in _here


@dataclass(eq=False)
class Job:
    """The command of `effect` in the background, started by the driver whose lease has the token `token`.

    It ends after `timeout_s` seconds, and when `stopped` is set. `kept` is the file that gets what it prints, by `on_bytes`.
    `settled` has something once it was started, or was not: then `row` is what `_finish_effect` takes, or `error` says why.
    """

    effect: Row
    place: Place
    token: str | None
    timeout_s: float
    stopped: threading.Event
    kept: KeptOutput | None = None
    on_bytes: OnBytes | None = None
    settled: Inbox[None] = field(default_factory=Inbox)
    started: bool = False
    error: BaseException | None = None
    row: Mapping[str, Any] = field(default_factory=lambda: {"state": "resolved"})

    @property
    def effect_id(self) -> int:
        """The number of its effect."""
        return int(self.effect["effect_id"])


class Watched:
    """Commands in the background that end together, when `close` is called; any thread may start one.

    Those of a driver hold up the end of the process, `kept` ones do not.
    """

    def __init__(self, *, kept: bool = False) -> None:
        self._kept = kept
        self._db: Store | None = None
        self._lock = threading.Lock()
        self._closing = False
        self._pid = os.getpid()
        self._running: dict[int, tuple[int, threading.Thread]] = {}

    def start(self, db: Store, job: Job) -> Mapping[str, Any] | None:
        """Start a command, and wait until that is recorded; returns the columns of its `_finish_effect`.

        None, and nothing was started, where those of here have been ended.
        """
        thread = threading.Thread(
            target=self._watch, args=(job,), name=f"job {job.effect_id}", daemon=self._kept or None
        )
        with self._lock:
            if self._closing:
                return None
            if self._db is None:
                # one of a pool would keep alive the handle that these end with
                self._db = Store.beside(db) if self._kept else db.beside()
            self._running = {each: running for each, running in self._running.items() if running[1].is_alive()}
            self._running[job.effect_id] = (job.effect["run_id"], thread)  # first: a signal may end the waiting
            _here.add((self._db.place, job.effect_id))
            if job.kept is not None:
                job.kept.hold()
            try:
                thread.start()
            except RuntimeError:  # there is no room for it; an interruption may come when it runs already
                del self._running[job.effect_id]
                self._let_go(job)
                raise
        while not job.settled.wait(_START_S):
            pass
        if job.error is not None and not job.started:
            raise job.error
        return job.row

    def alive(self, run_id: int | None = None) -> list[int]:
        """The effects of those that run, in any run or in one."""
        return [
            effect_id
            for effect_id, (of_run, thread) in tuple(self._running.items())
            if thread.is_alive() and run_id in (None, of_run)
        ]

    def join(self, effect_id: int | None = None) -> None:
        """Wait for the end of one, or of all."""
        for each, (_, thread) in tuple(self._running.items()):
            if effect_id in (None, each) and thread.is_alive():
                thread.join()

    def stop(self) -> None:
        """Have all of them end, from another thread or a signal handler."""
        self._closing = True  # no lock: a signal may come while this thread stops them

    def close(self) -> None:
        """End all of them and wait for that; a process that was forked has none of them."""
        if os.getpid() != self._pid:
            return
        self.stop()
        with self._lock:  # who starts one has started it, or will see that it is too late
            running = tuple(self._running.values())
        for _, thread in running:
            if thread.is_alive():
                thread.join()
        with self._lock:
            self._running = {}
            if self._db is not None:
                self._db.close()

    def _let_go(self, job: Job) -> None:
        assert self._db is not None, "a job was started"
        _here.discard((self._db.place, job.effect_id))
        if job.kept is not None:
            job.kept.close()

    def _watch(self, job: Job) -> None:
        asked = _Ending(job.stopped, lambda: self._closing, partial(self._value, TO_END, job.effect_id))
        try:
            with job.place.confine() as confined:
                result = run_process(
                    json.loads(job.effect["detail"])["command"],
                    cwd=Path(job.effect["root"]),
                    timeout_s=job.timeout_s,
                    on_start=partial(self._started, job),
                    on_output=partial(self._print, job),
                    cancelled=asked,
                    max_output=job.effect["max_output"],
                    confined=confined,
                    on_bytes=job.on_bytes,
                    follows=True,
                )
            if job.started and result.ended == "cancelled":  # the record says why
                result = replace(result, message="")
            row = process_row(result, confined.refused if confined else [], job.place.told, job.kept)
            self._end(job, row, result)
        except BaseException as error:  # told by the driver, or in the record of the job
            job.error = error
            if job.started:
                self._break(job, error)
        finally:
            job.settled.put(None)
            self._let_go(job)
            with self._lock:
                self._running.pop(job.effect_id, None)
                if self._closing and not self._running and self._db is not None:
                    self._db.close()  # nobody else does where the handle that these end with was lost

    def _started(self, job: Job, identity: ProcessIdentity) -> None:
        self._insert("_start_job", effect_id=job.effect_id, identity=identity.to_json(), lease=job.token)
        job.started = True
        job.settled.put(None)

    def _print(self, job: Job, channel: int, text: str) -> None:
        self._insert("_append_job_output", effect_id=job.effect_id, channel=channel, text=text, lease=job.token)

    def _end(self, job: Job, row: dict[str, Any], result: ProcessResult) -> None:
        """Record the end; of a command that did not start the driver does that."""
        if not job.started:
            job.row = row
            return
        outcome = None if result.ended == "exited" else row["outcome"]
        self._finish(job, outcome, result.exit_code, row["detail"])

    def _break(self, job: Job, error: BaseException) -> None:
        """Record that a job ended because it could not be watched any more, where even that can be written."""
        note = error.message if isinstance(error, EngineError) else type(error).__name__
        try:
            self._finish(job, "error", None, json.dumps({"note": f"it was stopped: {note}"}))
        except EngineError:
            return  # whoever drives the run next, or opens the file, finds it without an end

    def _finish(self, job: Job, outcome: str | None, exit_code: int | None, detail: str) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                self._insert(
                    "_finish_job",
                    effect_id=job.effect_id,
                    outcome=outcome,
                    exit_code=exit_code,
                    detail=detail,
                    lease=job.token,
                )
                return
            except EngineError:
                if not tries_left or job.stopped.is_set():
                    raise

    def _insert(self, door: str, **columns: Any) -> None:
        with self._lock:
            assert self._db is not None, "a job was started"
            self._db.insert(door, **columns)

    def _value(self, query: str, effect_id: int) -> str | None:
        with self._lock:
            assert self._db is not None, "a job was started"
            found: str | None = self._db.value(query, (effect_id,))
            return found


class _Ending(Asked):
    """Whether a job shall end: as for any process, or because those that it is watched with are ended."""

    def __init__(self, stopped: threading.Event, closing: Callable[[], bool], asks: Callable[[], str | None]) -> None:
        super().__init__(stopped, asks)
        self._closing = closing

    def is_set(self) -> bool:
        return self._closing() or super().is_set()
