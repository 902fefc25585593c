"""Tells pages when something has happened: one look at each file for all of them, and none while nobody watches.

spec: @inspector_live
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.api.database import Database

    from .files import File, Files, Stamp

LOOK_S = 0.3
STAMPS_S = 1.0
KEEP_S = 20.0
"""After so long a page is told to look again: a driver that was killed writes nothing."""
_NEW = """
    select max(ev.id) as id, r.alias as run
    from events as ev
    left join runs as r on r.id = ev.run_id
    where ev.id > ?
    group by ev.run_id
    limit 1000
"""
_NEWEST = "select coalesce(max(id), 0) from events"


class Watcher:
    """Watches one file while pages listen."""

    def __init__(self, file: File) -> None:
        self.looks = 0
        """How often the file was read, for tests."""
        self._file = file
        self._listeners: set[asyncio.Queue[str]] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_watching(self) -> bool:
        """Whether the file is asked."""
        return self._task is not None

    async def listen(self, after: int) -> AsyncIterator[str]:
        """What is told to one page, as server-sent events, until it goes; it shows what was there at the event `after`."""
        queue: asyncio.Queue[str] = asyncio.Queue(maxsize=8)
        self._listeners.add(queue)
        is_first = self._task is None
        if self._task is None:
            self._task = asyncio.create_task(self._watch(after))
        try:
            yield "retry: 2000\n\n"
            if not is_first and await run_in_threadpool(self._file.look, newest) > after:
                yield _event(None)
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), KEEP_S)
                except TimeoutError:
                    yield _event(None)
        finally:
            self._listeners.discard(queue)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _watch(self, last: int) -> None:
        db: Database | None = None
        version = None
        try:
            while True:
                try:
                    if db is None or db.moved():
                        db = await run_in_threadpool(self._reopened, db)
                        version = None
                    # microseconds: SQLite looks at a counter in the memory that processes share
                    found = await run_in_threadpool(db.value, "pragma data_version")
                    if found != version:
                        rows = await run_in_threadpool(db.rows, _NEW, (last,))
                        self.looks += 1
                        last = max([last, *(row["id"] for row in rows)])
                        # a prompt that waits in line is no event
                        if rows or version is not None:
                            self._tell(_event([row["run"] for row in rows] or None))
                    version = found
                except EngineError:
                    self._tell(_event(None))  # the page says what is wrong
                    await asyncio.sleep(2)
                await asyncio.sleep(LOOK_S)
        finally:
            if db is not None:
                db.close()

    def _reopened(self, db: Database | None) -> Database:
        if db is not None:
            db.close()
        return self._file.opened()

    def _tell(self, told: str) -> None:
        for queue in self._listeners:
            with suppress(asyncio.QueueFull):  # it has enough to look again
                queue.put_nowait(told)


class StampWatcher:
    """Watches all files by when they were written, for the page that shows them all; none of them is opened."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def listen(self) -> AsyncIterator[str]:
        """What is told to one page until it goes."""
        yield "retry: 2000\n\n"
        before, told = await run_in_threadpool(self._stamps), time.monotonic()
        while True:
            await asyncio.sleep(STAMPS_S)
            now = await run_in_threadpool(self._stamps)
            if now != before or time.monotonic() - told > KEEP_S:
                before, told = now, time.monotonic()
                yield _event(None)

    def _stamps(self) -> list[Stamp]:
        return [file.stamp() for file in self._files.all]


def newest(db: Database) -> int:
    """The id of the latest event."""
    return int(db.value(_NEWEST))


def _event(runs: list[str | None] | None) -> str:
    """An event that names the runs that changed; null: it may be any."""
    named = None if runs is None or None in runs else runs
    return f"event: changed\ndata: {json.dumps({'runs': named})}\n\n"
