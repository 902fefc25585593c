"""Follows a run, whoever drives it: the events in the file, and the text of an answer as it arrives in this process.

spec: @following
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from engine.api.lookout import Lookout
from engine.driving.progress import stored_event
from engine.driving.prose import Teller, arriving, tool_names
from engine.driving.results import run_row
from engine.errors import Conflict, EngineError

if TYPE_CHECKING:
    from engine.api.asyncio_handles import Handles
    from engine.events import Event
    from engine.handle import Handle

_POLL_S = 0.05

_FIRST = "select id from events where run_id = (select id from runs where alias = ?) order by id limit 1"
"""One look over the events before the run: `run_progress` looks at those that it is asked for once for each type."""
_NOW = """
    select exists (select 1 from open_prompts where run = ?) as goes_on,
        (select coalesce(max(id), 0) from events) as newest
"""
"""One look at both: what ends the run between two looks would never be followed by an event."""
_STORED = "select * from run_progress where run = ? and event_id > ? and event_id <= ? order by event_id"
_ANSWERED = """
    select ev.id, t.sequence as turn, x.prose
    from events as ev
    join runs as r on r.id = ev.run_id
    join turns as t on t.id = ev.turn_id
    join _response_prose as x on x.turn_id = t.id
    where ev.kind = 'turn.answered' and r.alias = ? and ev.id > ? and ev.id <= ?
    order by ev.id
"""


class Follower:
    """Reads what is new of `run`. `ended` is True once all its prompts have ended and all of it was read."""

    def __init__(self, db: Handle, run: str, after: int) -> None:
        run_row(db, run)
        self.ended: bool = False
        self._db = db
        self._run = run
        self._tools = tool_names(db)
        self._last = max(after, (db.value(_FIRST, (run,)) or 1) - 1)
        self._seen = -1
        self._teller = Teller()

    def stirred(self) -> bool:
        """Whether there may be something new, or the file is gone; takes some microseconds."""
        return self._db.moved() or arriving(self._db.place, self._run) is not None or self._newest() != self._seen

    def news(self) -> list[Event]:
        """The events since the last call, in their order. Raises `EngineError` (500) where the file was removed or replaced:
        what becomes of the run is in no file.
        """
        if self._db.moved():
            raise EngineError(f"{self._db.path}: was removed or replaced while run {self._run} was followed")
        if self._db.in_transaction:
            raise Conflict(f"{self._db.path}: a run cannot be followed inside a transaction; commit first")
        # what is written from here on is read by the next call, all of it
        goes_on, self._seen = self._db.tuples(_NOW, (self._run,))[0]
        told = sorted([*self._stored(), *self._answered()], key=lambda event: event["id"])
        self._last = max([self._last, *(event["id"] for event in told)])
        self.ended = not goes_on
        return [*told, *self._arriving()]

    def _newest(self) -> int:
        return int(self._db.value("select coalesce(max(id), 0) from events"))

    def _stored(self) -> list[Event]:
        return [stored_event(row) for row in self._db.rows(_STORED, (self._run, self._last, self._seen))]

    def _answered(self) -> Iterator[Event]:
        for row in self._db.rows(_ANSWERED, (self._run, self._last, self._seen)):
            yield from self._teller.more(row["turn"], row["prose"], row["id"])

    def _arriving(self) -> list[Event]:
        answer = arriving(self._db.place, self._run)
        if answer is None or self._newest() != self._seen:  # what was stored before this answer comes first
            return []
        return [*self._teller.more(answer.turn, answer.prose(self._tools), self._last)]


def follow(db: Handle, run: str, after: int) -> Iterator[Event]:
    """The events of `run` behind the one with the id `after`, until it has ended."""
    return _polled(Follower(db, run, after))


def _polled(follower: Follower) -> Iterator[Event]:
    while not follower.ended:
        if follower.stirred():
            yield from follower.news()
        if not follower.ended:
            time.sleep(_POLL_S)


async def follow_async(handles: Handles, run: str, after: int) -> AsyncIterator[Event]:
    """`follow` for asyncio, over a handle of `handles` that all share who follow a run on this event loop."""
    lookout = Lookout.over(handles)
    stirred = lookout.enter(run)
    try:
        follower = await lookout.read(lambda db: Follower(db, run, after))
        while not follower.ended:
            handles.expect_open()
            stirred.clear()
            for event in await lookout.read(lambda _: follower.news()):
                yield event
            if not follower.ended:
                await stirred.wait()
    finally:
        await lookout.leave(run, stirred)
