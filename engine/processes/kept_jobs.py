"""Commands in the background that outlive their runs: they are kept by an open file, and end when it is closed."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.processes.watched import Job, Watched


class KeptJobs:
    """What one `Database` keeps, for all handles that it made. May be used by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self.watched: Watched | None = None
        """Those that were started; None where none was."""

    def start(self, db: Store, job: Job) -> Mapping[str, Any] | None:
        """Start a command and return the columns of its `_finish_effect`; None where the file was closed meanwhile."""
        with self._lock:
            if self._closed:
                return None
            if self.watched is None:
                from engine.processes.watched import Watched

                self.watched = Watched(kept=True)
                atexit.register(self.watched.close)
            watched = self.watched
        return watched.start(db, job)

    def alive(self) -> list[int]:
        """The effects of those that run."""
        return self.watched.alive() if self.watched else []

    def wait(self) -> None:
        """Wait until all of them have ended."""
        if self.watched:
            self.watched.join()

    def stop(self) -> None:
        """Have all of them end, from another thread or a signal handler."""
        if self.watched:
            self.watched.stop()

    def close(self) -> None:
        """End all of them, and keep no other; closing twice is harmless."""
        with self._lock:
            self._closed = True
        if self.watched:
            self.watched.close()
            atexit.unregister(self.watched.close)

    def __del__(self) -> None:
        """Have them end where nobody has a handle on the file any more; that is not waited for."""
        self.stop()
        if self.watched and not self.watched.alive():
            self.watched.close()
