"""Synchronizes the log of a file to disk for several threads at once.

A commit that SQLite itself synchronizes keeps the file while the disk works, some milliseconds. Here it is written first,
then others may write, and whoever has committed waits for a synchronization that began after that: one serves all who wait.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from engine.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

_synchronize = getattr(os, "fdatasync", os.fsync)


class LogSync:
    """The log beside the database at `place`, for as long as a connection has it open: then it is the same file.

    Raises `OSError` where it cannot be opened.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._descriptor = os.open(f"{place}-wal", os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        self._counting = threading.Lock()
        self._working = threading.Lock()
        self._asked = 0
        self._done = 0
        self._failed: EngineError | None = None

    def sync(self) -> None:
        """Return when all that was committed before the call is on the disk; raises `EngineError` (500) where it is not."""
        with self._counting:
            self._asked += 1
            mine = self._asked
        with self._working:
            if self._failed is not None:
                raise self._failed
            if self._done >= mine:
                return
            with self._counting:
                covered = self._asked
            try:
                _synchronize(self._descriptor)
            except OSError as error:
                # the system tells it once, and what it could not write is not written by the next call
                self._failed = EngineError(
                    f"{self._place}: the -wal file cannot be written to disk ({error.strerror or error}); open it again"
                )
                raise self._failed from error
            self._done = covered

    def close(self) -> None:
        """Close the log."""
        os.close(self._descriptor)
