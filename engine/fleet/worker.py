"""A worker of a fleet: takes tasks from the manifest and carries them out, some at once, until nothing is left.

`python -m engine.fleet.worker MANIFEST SLOTS` is one. It ends when its standard input does: its driver is gone then.

spec: @fleet_workers
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.errors import Conflict, EngineError

from .carrying import Attempt
from .manifest import Manifest

_AHEAD = 1
"""So many tasks more than slots are in hand: their files are opened, or closed, while others wait for models."""
_IDLE_S = 0.2
_BEAT_S = 1.0
_NEXT = """
    select
        (select is_over from fleet_status) as is_over,
        (select ceiling_at is not null from fleet) as at_ceiling,
        (select min(not_before) - (select ms from _now) from tasks where state = 'waiting') as wait_ms
"""


class Worker:
    """Carries out tasks in `slots` threads, and in one more that prepares the next one."""

    def __init__(self, manifest: Manifest, slots: int, place: str) -> None:
        self._manifest = manifest
        self._slots = slots
        self.stopping = threading.Event()
        self._over = threading.Event()
        self._settings = manifest.rows("select max_cost, call_cost, max_output from fleet")[0]
        rated = manifest.value("select count(*) from rates")
        self._metered = bool(rated) or self._settings["max_cost"] is not None
        self._driving = threading.Semaphore(slots)
        self._attempts: set[Attempt] = set()
        self._lock = threading.Lock()
        self.number = manifest.begin_worker(place)

    def work(self) -> None:
        """Work until nothing is left to do, or `stopping` is set."""
        threads = [threading.Thread(target=self._loop, name=f"task-{n}") for n in range(self._slots + _AHEAD)]
        beat = threading.Thread(target=self._beat, name="beat")
        for thread in (*threads, beat):
            thread.start()
        for thread in threads:
            thread.join()
        self._over.set()
        beat.join()
        with suppress(Conflict):
            self._manifest.end_worker(self.number, "stopped")

    def stop(self) -> None:
        """Let runs stand where they are."""
        self.stopping.set()
        for attempt in self._at_work():
            attempt.meter.stop("stopped")

    def _loop(self) -> None:
        while not self.stopping.is_set():
            try:
                work = self._manifest.claim(self.number)
            except Conflict:  # it was taken for dead
                self.stop()
                return
            if work is None:
                if self._is_over():
                    return
                continue
            attempt = Attempt(self._manifest, work, self._settings, metered=self._metered)
            with self._lock:
                self._attempts.add(attempt)
            try:
                attempt.interrupted_by(self.stopping)
                attempt.carry_out(self._driving)
            finally:
                with self._lock:
                    self._attempts.discard(attempt)

    def _is_over(self) -> bool:
        """Whether nothing is left; waits a moment if something is."""
        (left,) = self._manifest.rows(_NEXT)
        if left["is_over"] or left["at_ceiling"]:
            return True
        wait_s = max(_IDLE_S, min((left["wait_ms"] or 0) / 1000, 1.0))
        self.stopping.wait(wait_s)
        return False

    def _beat(self) -> None:
        """Say each second that this worker is there, and hear what was cancelled."""
        while not self._over.wait(_BEAT_S):
            with suppress(EngineError):
                self._manifest.execute(
                    "update workers set seen_at = (select ms from _now) where id = ?", (self.number,)
                )
                mine = self._manifest.rows("select token, is_cancelled from work where worker_id = ?", (self.number,))
                cancelled = {row["token"] for row in mine if row["is_cancelled"]}
                for attempt in self._at_work():
                    if attempt.work["token"] in cancelled:
                        attempt.meter.stop("cancelled")

    def _at_work(self) -> list[Attempt]:
        with self._lock:
            return [*self._attempts]


def _driver_is_gone() -> None:
    """Wait for the end of standard input; not by `sys.stdin`, whose lock would be held when the process ends."""
    while os.read(0, 1024):
        pass


def main(manifest: str, slots: str, is_gone: Callable[[], object] | None = None) -> None:
    """Be a worker until the work or the driver is gone."""
    worker = Worker(Manifest(Path(manifest), trust=True), int(slots), "local")

    def watch() -> None:
        (is_gone or _driver_is_gone)()
        worker.stop()

    threading.Thread(target=watch, name="driver", daemon=True).start()
    worker.work()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver says when to stop
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    main(sys.argv[1], sys.argv[2])
