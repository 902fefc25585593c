"""Dispatches the commands of a turn: all in one statement, or one by one where a rule breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from engine.errors import EngineError
from engine.functions.limits import STATEMENT_SECONDS, Allowance, Stopped

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle

    from .lease import Lease

_STEPS_BETWEEN_LOOKS = 20_000
"""Instructions of SQLite after which a dispatch looks whether it shall stop: some milliseconds."""
_PATTERN_SECONDS = (
    "select max(s.seconds_left, 1.0) from turns as t join _loop_seconds as s using (loop_id) where t.id = ?"
)


class Dispatcher:
    """Dispatches turns of the run `run` for the driver that holds `lease`."""

    def __init__(self, db: Handle, run: str, lease: Lease) -> None:
        self._db = db
        self._run = run
        self._lease = lease

    def dispatch(self, step: Row) -> None:
        """Dispatch the turn. Raises `Stopped` where the driver is stopped meanwhile: then nothing of it was done."""
        stopped = self._lease.stopped.is_set
        self._db.connection.set_progress_handler(stopped, _STEPS_BETWEEN_LOOKS, id=self)
        try:
            with Allowance(lambda: self._pattern_seconds(step["turn_id"]), stopped):
                self._dispatch_all()
        except apsw.InterruptError as error:
            raise Stopped(f"run {self._run}: stopped while its commands were dispatched") from error
        finally:
            self._db.connection.set_progress_handler(None, id=self)

    def _pattern_seconds(self, turn_id: int) -> float:
        """What patterns may take, in seconds of CPU: no more than the loop has left."""
        left = self._db.value(_PATTERN_SECONDS, (turn_id,))
        return STATEMENT_SECONDS if left is None else min(left, STATEMENT_SECONDS)

    def _dispatch_all(self) -> None:
        try:
            self._db.call_door("_dispatch", run=self._run, lease=self._lease.token)
        except apsw.InterruptError:
            raise
        except (apsw.Error, EngineError):
            self._dispatch_singly()

    def _dispatch_singly(self) -> None:
        """Perform the commands one by one where a rule raised an error: only the command that it raised for fails."""
        self._db.insert("_dispatch", run=self._run, lease=self._lease.token, only=0)
        while command := self._db.value("select command_id from _next_commands where run = ?", (self._run,)):
            try:
                self._db.insert("_dispatch", run=self._run, lease=self._lease.token, only=command)
            except apsw.InterruptError:
                raise
            except (apsw.Error, EngineError) as error:
                self._db.insert("_record_crash", command_id=command, message=f"Broke: {error}", lease=self._lease.token)
