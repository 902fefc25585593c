"""Lets one thread at a time use a connection: for a statement, or for a whole transaction.

spec: @any_thread
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

from .lines import WAIT_S, kept


class Alone:
    """What a thread takes before it uses the connection of a handle; it may take it again.

    `lock` is one of C: no interruption comes between the taking of it and the `with` that gives it back.
    """

    def __init__(self, place: Path) -> None:
        self.lock: Any = threading.RLock()
        self._place = place
        self._keeper: int | None = None

    @property
    def is_kept(self) -> bool:
        """Whether another thread has a transaction open."""
        keeper = self._keeper
        return keeper is not None and keeper != get_ident()

    @property
    def is_in_transaction(self) -> bool:
        """Whether this thread has begun a transaction by `kept`."""
        return self._keeper == get_ident()

    def alone(self) -> AbstractContextManager[Any]:
        """The context in which this thread alone uses the connection.

        Raises `Conflict` (409) where another one keeps a transaction open for long: it may wait for this thread.
        """
        if self.is_kept and not self.is_free_within(WAIT_S):
            raise kept(self._place)
        lock: AbstractContextManager[Any] = self.lock
        return lock

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While this thread has a transaction open."""
        with self.alone():
            before = self._keeper
            try:
                self._keeper = get_ident()
                yield
            finally:
                self._keeper = before

    def is_free_within(self, seconds: float) -> bool:
        """Whether no other thread uses the connection, at the latest in some seconds."""
        entered: list[bool] = []
        try:
            # one call: between two an interruption could come, and the lock would stay taken
            entered.extend(map(self.lock.acquire, (True,), (seconds,)))
        finally:
            if entered == [True]:
                self.lock.release()
        return entered == [True]
