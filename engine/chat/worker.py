"""Drives the run of a chat in a thread, so that the terminal stays free. Another process that drives it is followed.

What is told goes through a queue: the thread of the screen reads it when it draws.

spec: @chat_screen @chat_together
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from engine.terminal.proposals import AcceptAll

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.errors import EngineError

_LOOK_S = 0.05
_NEEDED = ("engine.driving.runs", "engine.driving.prompts", "engine.driving.results", "engine.models.remote", "jinja2")
"""What the first prompt would wait for."""
_NEWEST = "select coalesce(max(id), 0) from events"
_HAS_ENDED = """
    select 1
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = ? and l.sequence = ? and l.status not in (100, 102)
"""


class Stoppable(Protocol):
    """A driver, which another thread may stop."""

    def stop(self) -> None:
        """Have it end."""
        ...


class Worker:
    """Drives one run at a time. `wake` is called in its thread when there is something to read."""

    def __init__(self, db: Database, wake: Callable[[], None], *, yolo: bool) -> None:
        self.told: deque[Any] = deque()
        """The events that nobody has read yet."""
        self.failed: deque[EngineError] = deque()
        self._db = db
        self._wake = wake
        self._yolo = yolo
        self._changed = threading.Condition()
        self._wanted: tuple[str, int | None] | None = None
        self._works = self._is_over = self._stops = False
        self._driver: Stoppable | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a run is driven or followed, or will be at once."""
        return self._works or self._wanted is not None

    def go(self, run: str, loop: int | None) -> None:
        """Drive `run` until it ends or waits; where it is driven already its driver takes up what is new.

        `loop` is the number of a prompt that waits for another process, if that drives the run.
        """
        self.warm()
        with self._changed:
            self._wanted, self._stops = (run, loop), False
            self._changed.notify()

    def warm(self) -> None:
        """Import what drives, so that the first prompt need not wait for it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work_on, name="engine chat", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the driving; the prompt stays as it stands."""
        with self._changed:
            self._stops, self._wanted = True, None
            if self._driver is not None:
                self._driver.stop()

    def close(self) -> None:
        """Stop, and wait until the thread has ended."""
        self.stop()
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _work_on(self) -> None:
        from engine.errors import EngineError

        for name in _NEEDED:
            import_module(name)
        while True:
            with self._changed:
                self._works = False
                self._wake()
                self._changed.wait_for(lambda: self._wanted is not None or self._is_over)
                if self._is_over or self._wanted is None:
                    return
                (run, loop), self._wanted, self._works = self._wanted, None, True
            try:
                with self._db.shared() as db:
                    self._drive(db, run, loop)
            except EngineError as error:
                self.failed.append(error)
            except Exception as error:  # the session goes on, and says so
                first = str(error).partition("\n")[0][:300]
                self.failed.append(EngineError(f"{type(error).__name__}: {first}; to continue the run: /resume", 500))

    def _drive(self, db: Database, run: str, loop: int | None) -> None:
        from engine.driving import runs
        from engine.errors import LeaseHeld

        while not self._stops:
            try:
                decide = AcceptAll(db) if self._yolo else None
                runs.drive(db, run, on_event=self._tell, on_proposal=decide, on_driver=self._take)
                return
            except LeaseHeld:
                self._tell({"type": "followed", "run": None})
                self._follow(db, run, loop)
                if loop is None or db.value(_HAS_ENDED, (run, loop)):
                    return
            finally:
                self._driver = None

    def _follow(self, db: Database, run: str, loop: int | None) -> None:
        """Tell what another process does, until it lets go of the run or the prompt `loop` has ended."""
        from engine.api.following import Follower
        from engine.driving.lease import is_held

        follower = Follower(db, run, int(db.value(_NEWEST)))
        while not self._stops:
            held = is_held(db, run)
            if follower.stirred():
                for event in follower.news():
                    self._tell(event)
            if not held or (loop is not None and db.value(_HAS_ENDED, (run, loop))):
                return
            time.sleep(_LOOK_S)

    def _take(self, driver: Stoppable) -> None:
        with self._changed:
            self._driver = driver
            if self._stops:
                driver.stop()

    def _tell(self, event: Any) -> None:
        self.told.append(event)
        self._wake()


__all__ = ["Worker"]
