"""What a thread waits with that a signal may interrupt anywhere: neither takes a lock that the interrupted thread may hold.

`threading.Event` and `queue.Queue` do. A signal handler that sets an event waits for ever where it interrupted a `set` of
it, and a `KeyboardInterrupt` in one of their methods may leave the lock taken, for which other threads then wait.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")

_LOOK_S = 0.05
"""How often who waits for a flag looks."""


class Flag(threading.Event):
    """An event that any thread and any signal handler may set."""

    def __init__(self) -> None:
        super().__init__()
        self._raised = False

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._raised

    def set(self) -> None:
        """Set it."""
        self._raised = True

    def clear(self) -> None:
        """Take it back."""
        self._raised = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, at most `timeout` seconds; returns whether it is."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
        return self.is_set()


class Inbox(Generic[T]):
    """Where any thread puts what one thread takes from `items`, the oldest first."""

    def __init__(self) -> None:
        self.items: deque[T] = deque()
        # locked while nothing was put since the last wait
        self._empty = threading.Lock()
        self._empty.acquire()

    def put(self, item: T) -> None:
        """Put something in, and wake who waits."""
        self.items.append(item)
        with suppress(RuntimeError):  # it was woken, and has not looked yet
            self._empty.release()

    def wait(self, seconds: float) -> bool:
        """Wait until something is in it, at most `seconds`, or less; returns whether there is."""
        if not self.items:
            self._empty.acquire(timeout=seconds)
        return bool(self.items)
