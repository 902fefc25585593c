"""What a driver's thread tells and a reader takes, at the reader's pace: no more than some events wait in between.

No lock is held that a signal could leave taken (`engine.system.waiting`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from engine.system.waiting import Inbox

T = TypeVar("T")

_LOOK_S = 0.1
"""How often who waits looks by himself."""


class Pipe(Generic[T]):
    """At most `most` items wait in it. `wake` is called, in the thread that puts, when there is something to take."""

    def __init__(self, most: int, wake: Callable[[], None]) -> None:
        self._most = most
        self._wake = wake
        self._inbox: Inbox[T] = Inbox()
        self._is_hungry = False
        # locked while the reader has taken nothing since the writer looked last
        self._full = threading.Lock()
        self._full.acquire()
        self.is_closed = False
        """Whether the reader has left."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits in it."""
        return not self._inbox.items

    def put(self, item: T) -> None:
        """Put something in when there is room; once the reader has left, it is lost."""
        self._await(lambda: len(self._inbox.items) < self._most)
        if not self.is_closed:
            self._inbox.put(item)
            self._wake()

    def drained(self) -> bool:
        """Wait until the reader has taken everything and asks for more; False: the reader has left."""
        self._await(lambda: self._is_hungry and not self._inbox.items)
        return not self.is_closed

    def take(self) -> T | None:
        """The next item; None: there is none yet."""
        if not self._inbox.items:
            self._is_hungry = True
            self._look()
            return None
        self._is_hungry = False
        item = self._inbox.items.popleft()
        self._look()
        return item

    def wait(self) -> None:
        """Wait until there may be something to take."""
        self._inbox.wait(_LOOK_S)

    def close(self) -> None:
        """The reader leaves."""
        self.is_closed = True
        self._look()

    def _await(self, is_so: Callable[[], bool]) -> None:
        while not self.is_closed and not is_so():
            self._full.acquire(timeout=_LOOK_S)

    def _look(self) -> None:
        """Have the writer look."""
        with suppress(RuntimeError):  # it was told, and has not looked yet
            self._full.release()
