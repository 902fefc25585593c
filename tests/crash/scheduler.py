"""One thread at a time: a seed decides which thread goes on, what time it is, and which one ends without a word.

A thread gives way before each statement that is outside of a transaction, and while it waits for a model. So a seed is a
whole history: the same seed gives the same one. Time is that of the database, which leases go by; it jumps.
"""

from __future__ import annotations

import faulthandler
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from engine.db import lines
from engine.driving import lease_renewal

START_MS = 1_767_225_600_000
_EPOCH = 2_440_587.5
"""The Unix epoch as a Julian day."""
_DAY_MS = 86_400_000
_WAIT_S = 300
"""After so long a thread that has its turn hangs."""


class Ended(BaseException):
    """What a thread whose process has ended is woken with, when nobody looks any more."""


class Actor:
    """A thread that takes its turns; `work` is called with it."""

    def __init__(self, scheduler: Scheduler, name: str, work: Callable[[Actor], None]) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.is_done = self.is_dead = False
        self.turn = threading.Semaphore(0)
        self._scheduler = scheduler
        self._work = work
        self.thread = threading.Thread(target=self._live, name=name, daemon=True)

    def _live(self) -> None:
        self.turn.acquire()
        try:
            self._work(self)
        except Ended:
            pass
        except BaseException as error:
            self.error = error
        self.is_done = True
        self._scheduler.leave()


class Scheduler:
    """Runs actors until all have ended. `now` is the time in milliseconds; `chance` decides all that is decided."""

    def __init__(self, seed: int, *, most_dead: int = 0) -> None:
        self.chance = random.Random(seed)
        self.now = START_MS
        self.actors: list[Actor] = []
        self.back = threading.Semaphore(0)
        self.steps = 0
        self.told: list[str] = []
        self._most_dead = most_dead
        self._is_over = False
        self._by_thread: dict[int, Actor] = {}

    def __call__(self) -> int:
        return self.now

    def tell(self, what: str) -> None:
        """Note what has happened, for whoever reads a history."""
        self.told.append(f"{self.steps} {what}")

    def add(self, name: str, work: Callable[[Actor], None]) -> None:
        """Add an actor."""
        self.actors.append(Actor(self, name, work))

    def give_way(self, where: str = "") -> None:
        """Let the seed decide who goes on; nothing in a thread that is no actor."""
        actor = self._by_thread.get(threading.get_ident())
        if actor is None or self._is_over:
            return
        if where:
            self.tell(f"{actor.name} {where}")
        self.back.release()
        actor.turn.acquire()
        if self._is_over:
            raise Ended

    def leave(self) -> None:
        """The actor of this thread has ended; another thread may get its number."""
        self._by_thread.pop(threading.get_ident(), None)
        self.back.release()

    def run(self, after_each: Callable[[], None]) -> None:
        """Run all actors; `after_each` is called after each step, while all stand still."""
        for actor in self.actors:
            actor.thread.start()
            assert actor.thread.ident is not None
            self._by_thread[actor.thread.ident] = actor
        while ready := [each for each in self.actors if not (each.is_done or each.is_dead)]:
            self.steps += 1
            self._meddle(ready)
            ready = [each for each in ready if not each.is_dead]
            if not ready:
                break
            actor = self.chance.choice(ready)
            actor.turn.release()
            if not self.back.acquire(timeout=_WAIT_S):
                faulthandler.dump_traceback()
                raise AssertionError(f"{actor.name} hangs; {self.told[-5:]}")
            after_each()

    def end(self) -> None:
        """Wake the threads whose processes have ended, when all was looked at."""
        self._is_over = True
        for actor in self.actors:
            actor.turn.release()
        for actor in self.actors:
            actor.thread.join(_WAIT_S)
            assert not actor.thread.is_alive(), f"{actor.name} hangs"

    def _meddle(self, ready: list[Actor]) -> None:
        drawn = self.chance.random()
        if drawn < 0.02:
            self.now += self.chance.choice([1, 1_000, 40_000, 3_600_000, 86_400_000, -5_000, -3_600_000])
            self.tell(f"time is {self.now - START_MS}")
        elif drawn < 0.025 and sum(each.is_dead for each in self.actors) < self._most_dead:
            actor = self.chance.choice(ready)
            actor.is_dead = True
            self.tell(f"{actor.name} dies")
        else:
            self.now += self.chance.randrange(3)


class _Apart(dict[Any, Any]):
    """No thread waits for another one of this process: each actor stands for a process of its own."""

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return default


@contextmanager
def scheduled(scheduler: Scheduler) -> Iterator[Scheduler]:
    """While new connections of this process have the scheduler's time, and give way before their statements."""

    def listen(connection: apsw.Connection) -> None:
        def before(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
            if not connection.in_transaction:
                scheduler.give_way()
            return True

        connection.exec_trace = before
        connection.create_scalar_function("julianday", julian_day, 1, flags=apsw.SQLITE_INNOCUOUS)

    def julian_day(of: str) -> float:
        assert of == "now", f"julianday({of!r}) is not simulated"
        return _EPOCH + scheduler.now / _DAY_MS

    poll, together = lease_renewal._POLL_S, lines._lines
    apsw.connection_hooks.append(listen)
    lines._lines = _Apart()  # type: ignore[assignment]
    lease_renewal._POLL_S = 3_600.0  # leases are renewed by nobody: the time of this machine does not count here
    try:
        yield scheduler
    finally:
        lease_renewal._POLL_S, lines._lines = poll, together
        apsw.connection_hooks.remove(listen)
