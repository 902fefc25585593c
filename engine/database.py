"""An open engine file: rows out, rows in, transactions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import apsw

from . import schema as schemas
from .errors import Conflict, EngineError, ValidationError
from .own_files import identity
from .registration import Clock, register

Bindings = Sequence[Any] | Mapping[str, Any]
Row = dict[str, Any]

Synchronous = Literal["FULL", "NORMAL"]

BUSY_TIMEOUT_MS = 5_000
_STATEMENTS = 1024
"""Places for prepared statements. Each execution takes the next place and forgets what was there, even where it is the one
statement over and over: with few places, a turn of some hundred executions would prepare them all anew, 10 ms and more."""


def _configure(connection: apsw.Connection, synchronous: str, read_only: bool, clock: Clock) -> None:
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # without it SQLite looks at bound values when it plans, and prepares a statement again at every new value
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    register(connection, clock)
    if read_only:
        connection.execute("pragma query_only = on")
        return
    if connection.pragma("application_id") != schemas.APPLICATION_ID:
        # before WAL, so that the mark stands in the header of the file itself
        connection.execute(f"pragma application_id = {schemas.APPLICATION_ID}")
    connection.execute("pragma journal_mode = wal").fetchall()
    connection.execute(f"pragma synchronous = {synchronous}").fetchall()
    for pragma in ("temp_store = memory", "cache_size = -16000", "wal_autocheckpoint = 4000"):
        connection.execute(f"pragma {pragma}").fetchall()
    schemas.prepare(connection)


@contextmanager
def _clear_errors(file: Path) -> Iterator[None]:
    """Turn what SQLite says of a file into what happened, to what, and what to do next."""
    try:
        yield
    except apsw.NotADBError as error:
        raise ValidationError(f"{file}: is not a database; it is left as it is") from error
    except apsw.CorruptError as error:
        raise EngineError(
            f"{file}: is damaged ({error}); restore a copy, or save what is left with '.recover'"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Conflict(f"{file}: is locked by another process; wait for it or stop it") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise EngineError(
            f"{file}: cannot be written; check the permissions of the file and its folder", 403
        ) from error
    except apsw.CantOpenError as error:
        raise EngineError(f"{file}: cannot be opened; check the permissions of the file and its folder", 403) from error
    except apsw.FullError as error:
        raise EngineError(f"{file}: the disk is full; nothing was written", 500) from error
    except OverflowError as error:  # of a bound value
        raise ValidationError("a number has more than 64 bits; give a smaller one") from error
    except apsw.IOError as error:
        raise EngineError(f"{file}: cannot be read or written ({error})", 500) from error


class Store:
    """An open engine file: rows out, rows in, transactions. One connection, used by one thread at a time.

    Opening creates, migrates and rebuilds the file as needed; see `engine.open` for the arguments and the errors.
    """

    def __init__(self, path: str | PathLike[str], *, synchronous: Synchronous, read_only: bool, clock: Clock) -> None:
        self.path = Path(path)
        self.place = Path(os.path.realpath(path))
        self.synchronous = synchronous
        self.clock = clock
        schemas.check_header(self.path)
        if not self.path.parent.is_dir():
            raise EngineError(f"{self.path.parent}: no such folder; create it first", 404)
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with _clear_errors(self.path):
            self.connection = apsw.Connection(str(self.path), flags=flags, statementcachesize=_STATEMENTS)
        try:
            with _clear_errors(self.path):
                _configure(self.connection, synchronous, read_only, clock)
        except BaseException:
            self.connection.close()
            raise
        self._identity = identity(self.place)

    def moved(self) -> bool:
        """Whether the file that is open is no longer the one under its name: what is written now is lost."""
        return self._identity is not None and identity(self.place) != self._identity

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a statement, each a dict from column name to value."""
        with _clear_errors(self.path):
            cursor = self.connection.execute(sql, bindings)
            try:
                names = [column[0] for column in cursor.get_description()]
            except apsw.ExecutionCompleteError:
                return []
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """The first row of a statement, or None."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    def value(self, sql: str, bindings: Bindings = ()) -> Any:
        """The first column of the first row of a statement, or None."""
        with _clear_errors(self.path):
            found = self.connection.execute(sql, bindings).fetchone()
        return found[0] if found else None

    def execute(self, sql: str, bindings: Bindings = ()) -> None:
        """Run a statement for what it does."""
        with _clear_errors(self.path):
            self.connection.execute(sql, bindings).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One transaction, begun as a writer; an error rolls all of it back. Inside another one it is part of that."""
        if self.connection.in_transaction:
            yield
            return
        self.execute("begin immediate")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise
        self.execute("commit")

    def expect_no_transaction(self) -> None:
        """Raise `Conflict` (409) inside a transaction: what a run does in the world could not be rolled back with it."""
        if self.connection.in_transaction:
            raise Conflict(
                f"{self.path}: a run is not driven inside a transaction; commit first, then run or resume it"
            )

    def insert(self, target: str, **columns: Any) -> None:
        """Insert one row into a table or a door of the engine."""
        names = ", ".join(f'"{name}"' for name in columns)
        places = ", ".join(f":{name}" for name in columns)
        self.execute(f"insert into {target} ({names}) values ({places})", columns)  # noqa: S608 - names are ours

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


__all__ = ["BUSY_TIMEOUT_MS", "Bindings", "Row", "Store"]
