"""The handles on one file of the threads that work on it for asyncio.

They borrow the connections of the file's drivers, which are few and have their statements prepared. Only who looks for
news on an event loop, and must never wait there, has a connection for that.

spec: @async_contract
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from engine.errors import Conflict
from engine.system.in_thread import in_thread

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from engine.api.database import Database
    from engine.api.lookout import Lookout
    from engine.contract import OnDriver
    from engine.driving.loop import Driver

_T = TypeVar("_T")


class Handles:
    """Handles on the file of `db`; may itself be used by any thread."""

    def __init__(self, db: Database) -> None:
        self._db = db
        # the last one that was given back
        self._idle: Database | None = None
        self._used = 0
        self._changing = threading.Lock()
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
        """A handle with a connection of its own; raises `Conflict` (409) where these are closed."""
        with self._changing:
            self.expect_open()
            db, self._idle = self._idle, None
            self._used += 1
        try:
            if db is not None and db.moved():
                db.close()
                db = None
            return self._db.again() if db is None else db
        except BaseException:
            with self._changing:
                self._used -= 1
            raise

    def give_back(self, db: Database) -> None:
        """Keep a handle for later, or close it where there is one or it was left in a transaction."""
        with self._changing:
            self._used -= 1
            if keep := db.is_idle and not self._closed and self._idle is None:
                self._idle = db
        if not keep:
            db.close()

    async def call(self, work: Callable[[Database], _T]) -> _T:
        """The result of `work` with a handle, in a thread."""

        def call() -> _T:
            with self._db.shared() as db:
                return work(db)

        return await in_thread(call)

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

    def close(self) -> None:
        """Close the idle handle; those in use are closed when they are given back."""
        with self._changing:
            self._closed, idle, self._idle = True, self._idle, None
        if self.lookouts:
            from engine.api.lookout import Lookout

            Lookout.end_those_left(self)
        if idle is not None:
            idle.close()
