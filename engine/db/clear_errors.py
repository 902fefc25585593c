"""Turns what SQLite and Python say of an engine file into the engine's own errors."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import apsw

from engine.errors import Conflict, EngineError, ValidationError, error_for

_REFUSAL = re.compile(r"([45]\d\d) (.*)", re.DOTALL)
"""What a guard says that readers without the engine's functions are to understand too: status and message."""
_FRAME = "user-defined-scalar-"
LOOK_SECONDS = 20.0
"""How long a statement on a file that is only read may take: a view in a file from elsewhere may have no end."""
_STEPS = 20_000


class ClearErrors:
    """Turns what SQLite says of a file into what happened, to what, and what to do next; a context that may be used again.

    `differs` says how the file differs from what this build makes, where it does.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._process = os.getpid()
        self.differs: str | None = None
        self._until = float("inf")

    def limit(self, connection: apsw.Connection) -> None:
        """End each statement of `connection` that takes longer than `LOOK_SECONDS`."""
        self._until = time.monotonic() + LOOK_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > self._until, _STEPS, id=self)

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that opened the file: SQLite's locks do not go with it."""
        return os.getpid() != self._process

    def __enter__(self) -> None:
        if self.is_inherited:
            raise Conflict(f"{self.file}: was opened before this process was forked; open it again in this process")
        if self._until != float("inf"):
            self._until = time.monotonic() + LOOK_SECONDS

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and (clear := self._translated(error)) is not None:
            raise clear from error

    def _translated(self, error: BaseException) -> EngineError | None:
        match error:
            case apsw.SQLError() if self.differs and str(error).startswith("no such "):
                return Conflict(f"{self.file}: {error}: {self.differs}")
            case apsw.InterruptError() if self._until != float("inf"):
                return EngineError(f"{self.file}: reading took longer than {LOOK_SECONDS:g} s and was stopped", 504)
            case apsw.ConnectionClosedError():
                return Conflict(f"{self.file}: is closed; open it again")
            case apsw.ThreadingViolationError():
                return Conflict(
                    f"{self.file}: is in use by another thread; close it when the other thread has finished"
                )
            case apsw.BindingsError():
                return ValidationError(f"the values do not fit the statement ({error}); give one for each place")
            case UnicodeEncodeError():
                return ValidationError(
                    f"{ascii(error.object)[:80]} is not UTF-8 and cannot be stored; convert it first"
                )
            case TypeError():  # of a bound value, or of a statement that is no text
                return ValidationError(f"SQLite cannot store that: {error}; give text, numbers, bytes or None")
            case UnicodeDecodeError() if function_that_raised(error):  # bytes that SQL joined to a text
                said = "is not UTF-8; give a text where bytes were given, or restore a copy where the file holds them"
                return ValidationError(f"{error.object[:80]!r} {said}")
            case UnicodeDecodeError():
                return EngineError(f"{self.file}: holds text that is not UTF-8; restore a copy")
            case apsw.SQLError() | apsw.MismatchError() | apsw.RangeError():
                return ValidationError(f"{error}; correct the statement")
            case apsw.ConstraintError() if found := _REFUSAL.match(str(error)):
                return error_for(int(found[1]), found[2])
            case apsw.ConstraintError():
                return ValidationError(f"a constraint of the file refuses this: {error}")
            case apsw.NotADBError():
                return ValidationError(f"{self.file}: is not a database, and was not changed")
            case apsw.CorruptError():
                # what SQLite quotes of the file may have several lines
                quoted = " ".join(str(error).split())
                said = f"is damaged ({quoted}); restore a copy, or save what is left with '.recover'"
                return EngineError(f"{self.file}: {said}")
            case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():  # all of them waited
                return Conflict(f"{self.file}: is locked by another process; wait for it or stop it")
            case apsw.ReadOnlyError() | apsw.PermissionsError():
                said = "cannot be written; check the permissions of the file and its folder"
                return EngineError(f"{self.file}: {said}", 403)
            case apsw.CantOpenError():
                said = "cannot be opened; check the permissions of the file and its folder"
                return EngineError(f"{self.file}: {said}", 403)
            case apsw.FullError():
                return EngineError(f"{self.file}: the disk is full; nothing was written", 500)
            case OverflowError():  # of a bound value
                return ValidationError("a number has more than 64 bits; give a smaller one")
            case apsw.IOError():
                return EngineError(f"{self.file}: cannot be read or written ({error})", 500)
            case _:
                return None


def function_that_raised(error: BaseException) -> str | None:
    """The SQL function in which an error arose; None for an error from elsewhere. apsw names a frame after each function."""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_name
        if name.startswith(_FRAME):
            return name.removeprefix(_FRAME)
        trace = trace.tb_next
    return None
