"""Lets the threads of this process write to a file one after the other.

SQLite lets those that wait for a file try again at growing intervals, and gives up after some seconds: of many runs that are
driven at once, one that was never lucky would fail.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from engine.errors import Conflict

WAIT_S = 60.0
"""A thread that holds a file for longer does not write: it waits for something."""


class Line:
    """Where threads wait for one file. A thread that is in it may enter again."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.RLock()

    @property
    def is_free(self) -> bool:
        """Whether no other thread writes now, or waits for whoever else writes."""
        if free := self._lock.acquire(blocking=False):
            self._lock.release()
        return free

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While it is the turn of this thread; raises `Conflict` (409) where another one keeps the file."""
        with self.turn_within(WAIT_S) as mine:
            if not mine:
                raise kept(self._place)
            yield

    @contextmanager
    def turn_within(self, seconds: float) -> Iterator[bool]:
        """Whether it is the turn of this thread within some seconds; where it is, until the end."""
        entered: list[bool] = []
        try:
            # one call: between two an interruption could come, and the lock would stay taken
            entered.extend(map(self._lock.acquire, (True,), (seconds,)))
            yield entered == [True]
        finally:
            if entered == [True]:
                self._lock.release()


class Queue:
    """Where threads of the engine's own wait for one file, in the order in which they came. None may enter again.

    Not for the main thread: an interruption there would come between two steps of it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._turns = 0
        # each is locked, and is let go when it is the turn of the thread that waits for it
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def turn_within(self, seconds: float, *, patiently: bool = False) -> Iterator[bool]:
        """Whether it is the turn of this thread within some seconds; where it is, until the end.

        Who waits `patiently` gives up only where nobody noted a turn for so long.
        """
        entered = self._enter(seconds, patiently)
        try:
            yield entered
        finally:
            if entered:
                self._leave()

    def note_turn(self) -> None:
        """Tell that whoever has the turn gets on; called by that thread."""
        self._turns += 1

    def _enter(self, seconds: float, patiently: bool) -> bool:
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        seen = self._turns
        while not gate.acquire(timeout=seconds):
            with self._lock:
                if gate not in self._waiting:  # it was let go just now
                    return True
                if not patiently or seen == self._turns:
                    self._waiting.remove(gate)
                    return False
                seen = self._turns
        return True

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


def kept(place: Path) -> Conflict:
    """What is raised where it is not the turn of a thread for `WAIT_S` seconds."""
    return Conflict(f"{place}: another thread has an open transaction; commit it or roll it back")


_lines: WeakValueDictionary[Path, Line] = WeakValueDictionary()
_making = threading.Lock()


def line_for(place: Path) -> Line:
    """The line for the file at `place`, the same one for each handle on it."""
    with _making:
        return Line(place) if place.name == ":memory:" else _lines.setdefault(place, Line(place))


def _start_over() -> None:
    """In a process that was forked: the threads that stood in line are not there."""
    global _making
    _making = threading.Lock()
    _lines.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_start_over)
