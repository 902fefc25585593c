"""Keeps handles on one file for the threads that work on it for asyncio.

A handle that was used has its statements prepared: a run takes a fifth of the time that it takes with a fresh one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from engine.driving.threads import in_thread
from engine.errors import Conflict

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from engine.api import Database
    from engine.contract import OnDriver
    from engine.driving.lookout import Lookout
    from engine.driving.loop import Driver

_T = TypeVar("_T")

_MOST_IDLE = 32
"""Handles that are kept while nobody uses them; each holds some megabytes."""
_LONG_IDLE = 4
"""Those of them that are kept for longer than `_SOON_S`."""
_SOON_S = 60.0
_AT_ONCE = 4
"""Handles in use, from which on who wants one more waits, as long as handles come back."""
_PATIENCE_S = 0.5
"""Where none comes back for as long, twice as many are opened."""
_GLANCE_S = 0.05
"""Where none has come back since then either and none waits for the file, they wait for each other: this long is enough."""


class Handles:
    """Handles on the file of `db`, each used by one thread at a time; may itself be used by any thread."""

    def __init__(self, db: Database) -> None:
        self._db = db
        # the one that was used last stands last, with the time since when it is idle
        self._idle: list[tuple[float, Database]] = []
        self._used = self._returned = 0
        self._at_once = _AT_ONCE
        # how many had come back when more were last opened; -1: none were
        self._returned_at_growth = -1
        self._changed = threading.Condition()
        self._closed = False
        self.lookouts: dict[asyncio.AbstractEventLoop, Lookout] = {}
        """Those who watch the file for who follows runs, by their event loop."""

    @property
    def place(self) -> Path:
        """The file."""
        return self._db.place

    @property
    def is_open(self) -> bool:
        """Whether these were not closed."""
        return not self._closed

    def expect_open(self) -> None:
        """Raise `Conflict` (409) where these were closed."""
        if self._closed:
            raise Conflict(f"{self._db.path}: is closed; open it again")

    def take(self) -> Database:
        """A handle, one that was used before where there is one; raises `Conflict` (409) where these are closed."""
        with self._changed:
            self._wait_for_one()
            self.expect_open()
            db = self._idle.pop()[1] if self._idle else None
            self._used += 1
        try:
            if db is not None and db.moved():
                db.close()
                db = None
            return self._db.again() if db is None else db
        except BaseException:
            with self._changed:
                self._count_back()
            raise

    def give_back(self, db: Database) -> None:
        """Keep a handle for later, or close it where there are enough or it was left in a transaction.

        Of those that a crowd of runs has left behind most are closed by the first that comes back a minute later.
        """
        now = time.monotonic()
        with self._changed:
            keep = db.is_idle and not self._closed and len(self._idle) < _MOST_IDLE
            if keep:
                self._idle.append((now, db))
            old = [each for since, each in self._idle[:-_LONG_IDLE] if now - since > _SOON_S]
            # the oldest stand first
            del self._idle[: len(old)]
            self._count_back()
        for each in old if keep else [*old, db]:
            each.close()

    async def call(self, work: Callable[[Database], _T]) -> _T:
        """The result of `work` with a handle, in a thread."""
        return await in_thread(lambda: self._with_one(work))

    async def drive(self, work: Callable[[Database, OnDriver], _T]) -> _T:
        """The result of `work`, which drives a run with a handle and an `on_driver`; cancelling it stops the driving."""
        drivers: list[Driver] = []
        cancelled = threading.Event()

        def watch(driver: Driver) -> None:
            drivers.append(driver)
            if cancelled.is_set():
                driver.stop()

        def cancel() -> None:
            cancelled.set()
            for driver in drivers:
                driver.stop()

        def drive() -> _T:
            with self._db.shared() as db:
                return work(db, watch)

        return await in_thread(drive, cancel=cancel)

    def _with_one(self, work: Callable[[Database], _T]) -> _T:
        db = self.take()
        try:
            return work(db)
        finally:
            self.give_back(db)

    def _wait_for_one(self) -> None:
        """Wait while many are in use and some come back: a crowd of short calls needs few handles."""
        while not self._idle and not self._closed and self._used >= self._at_once:
            before = self._returned, self._at_once
            wait_for_each_other = self._returned == self._returned_at_growth and self._db.line.is_free
            self._changed.wait(_GLANCE_S if wait_for_each_other else _PATIENCE_S)
            if before == (self._returned, self._at_once):
                self._at_once *= 2
                self._returned_at_growth = self._returned
                self._changed.notify_all()

    def _count_back(self) -> None:
        """Count one less in use, while the lock is held."""
        self._used -= 1
        self._returned += 1
        if not self._used:
            self._at_once = _AT_ONCE
        self._changed.notify()

    def close(self) -> None:
        """Close the idle handles; those in use are closed when they are given back."""
        with self._changed:
            self._closed, idle, self._idle = True, self._idle, []
            self._changed.notify_all()
        if self.lookouts:
            from engine.driving.lookout import Lookout

            Lookout.end_those_left(self)
        for _, db in idle:
            db.close()
