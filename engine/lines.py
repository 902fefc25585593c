"""Lets the threads of this process write to a file one after the other.

SQLite lets those that wait for a file try again at growing intervals, and gives up after some seconds: of many runs that are
driven at once, one that was never lucky would fail.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from .errors import Conflict

_WAIT_S = 60.0
"""A thread that holds a file for longer does not write: it waits for something."""


class Line:
    """Where threads wait for one file. A thread that is in it may enter again."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.RLock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While it is the turn of this thread; raises `Conflict` (409) where another one keeps the file."""
        if not self._lock.acquire(timeout=_WAIT_S):
            raise Conflict(f"{self._place}: another thread keeps a transaction open; commit it, or roll it back")
        try:
            yield
        finally:
            self._lock.release()


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
