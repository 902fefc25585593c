"""Watches a file for those who follow runs on one event loop: they share one handle, however many they are.

A handle takes some megabytes and descriptors, and a client of a server follows a run for as long as it waits for a person.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from engine.driving.prose import arriving
from engine.errors import EngineError
from engine.system.in_thread import in_thread

if TYPE_CHECKING:
    from engine.api.asyncio_handles import Handles
    from engine.api.database import Database

_T = TypeVar("_T")

_POLL_S = 0.05

_NEWEST = "select coalesce(max(id), 0) from events"
_NEW = """
    select max(ev.id), r.alias
    from events as ev
    left join runs as r on r.id = ev.run_id
    where ev.id > ?
    group by ev.run_id
"""
"""The runs that have new events, each with its last; null: one that is gone."""


class Lookout:
    """Tells those who follow runs on `loop` when there may be something new, and reads it for them, one at a time.

    All but `read` is called on the event loop.
    """

    def __init__(self, handles: Handles, loop: asyncio.AbstractEventLoop) -> None:
        self._handles = handles
        self._loop = loop
        # by run, what is set when it may have something new
        self._stirred: dict[str, set[asyncio.Event]] = {}
        self._lock = threading.Lock()
        self._db: Database | None = None
        self._last = 0

    @classmethod
    def over(cls, handles: Handles) -> Lookout:
        """The one of the running event loop; a new one where the file has been replaced."""
        cls.end_those_left(handles)
        loop = asyncio.get_running_loop()
        lookout = handles.lookouts.get(loop)
        if lookout is None or lookout._is_of_the_past:
            lookout = handles.lookouts[loop] = cls(handles, loop)
        return lookout

    @staticmethod
    def end_those_left(handles: Handles) -> None:
        """Give the handles back of those on event loops that were closed meanwhile: nobody leaves them any more."""
        for loop in [loop for loop in tuple(handles.lookouts) if loop.is_closed()]:
            if lookout := handles.lookouts.pop(loop, None):
                lookout._give_back()

    def enter(self, run: str) -> asyncio.Event:
        """What is set from now on whenever `run` may have something new, and when the file was closed."""
        if not self._stirred:
            self._loop.call_later(_POLL_S, self._look)
        stirred = asyncio.Event()
        self._stirred.setdefault(run, set()).add(stirred)
        return stirred

    async def leave(self, run: str, stirred: asyncio.Event) -> None:
        """End what `enter` began; the last one gives the handle back."""
        self._stirred[run].discard(stirred)
        if not self._stirred[run]:
            del self._stirred[run]
        if not self._stirred:
            if self._handles.lookouts.get(self._loop) is self:
                del self._handles.lookouts[self._loop]
            await in_thread(self._give_back)

    async def read(self, work: Callable[[Database], _T]) -> _T:
        """The result of `work` with the handle that all share, in a thread."""

        def perform() -> _T:
            with self._lock:
                if self._db is None:
                    self._db = self._handles.take()
                    self._last = self._db.value(_NEWEST)
                return work(self._db)

        return await in_thread(perform)

    @property
    def _is_of_the_past(self) -> bool:
        db = self._db
        return db is not None and db.moved()

    def _give_back(self) -> None:
        with self._lock:
            db, self._db = self._db, None
        if db is not None:
            self._handles.give_back(db)

    def _look(self) -> None:
        """Wake those whose run has something new, all where the file is closed or gone, as long as somebody follows."""
        if not self._stirred:
            return
        self._loop.call_later(_POLL_S, self._look)
        runs = self._new() if self._handles.is_open and not self._is_of_the_past else None
        for run in list(self._stirred):
            if runs is None or run in runs or arriving(self._handles.place, run) is not None:
                for stirred in self._stirred[run]:
                    stirred.set()

    def _new(self) -> set[str] | None:
        """The runs that have new events; None: it may be any."""
        if not self._lock.acquire(blocking=False):
            return set()  # who reads now is not waited for
        try:
            rows = [] if self._db is None else self._db.tuples(_NEW, (self._last,))
        except EngineError:  # whoever reads is told
            return None
        finally:
            self._lock.release()
        self._last = max([self._last, *(last for last, _ in rows)])
        names = {run for _, run in rows}
        return None if None in names else names
