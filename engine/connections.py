"""Connections to an engine file: one that writes brings it up to date first, one that reads leaves nothing behind."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import apsw

from . import schema as schemas
from .build import installed
from .errors import EngineError, NotFound
from .locate import FOLDER
from .registration import Clock, register

BUSY_TIMEOUT_MS = 5_000
MEMORY = ":memory:"
_STATEMENTS = 1024
"""Places for prepared statements. Each execution takes the next place and forgets what was there, even where it is the one
statement over and over: with few places, a turn of some hundred executions would prepare them all anew, 10 ms and more."""
_RETRY_S = 0.01


def connect_to_write(path: Path, clock: Clock, synchronous: str, trust: schemas.Trust) -> apsw.Connection:
    """A connection to the file at `path`, made where there is none, with the tables and rules of this build."""
    if str(path) != MEMORY and not path.exists():
        # what cannot be made in one step is made by SQLite below
        installed().fresh.write(path, private=path.parent.name == FOLDER)
    connection = _connected(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        if str(path) == MEMORY:
            installed().fresh.copy_to(connection)
        register(connection, clock)
        schemas.prepare(connection, trust)
        _use_wal(connection)
        for pragma in (
            f"synchronous = {synchronous}",
            "temp_store = memory",
            "cache_size = -16000",
        ):
            connection.execute(f"pragma {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path, clock: Clock) -> apsw.Connection:
    """A connection that cannot write to the file at `path`, whatever build made it; raises `NotFound` (404) without one."""
    if not path.exists():
        raise NotFound(f"{path}: there is no such file")
    connection = _connected(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("select 1 from sqlite_schema").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # a file in WAL mode whose folder cannot be written: nobody writes it, so its log is not needed
        connection.close()
        if _log_size(path):
            raise EngineError(
                f"{path}: has changes in its -wal file that cannot be read here; allow writing to its folder, or copy both",
                403,
            ) from None
        address = f"file:{quote(str(path.absolute()))}?immutable=1"
        connection = _connected(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except BaseException:
        connection.close()
        raise
    register(connection, clock)
    connection.execute("pragma query_only = on").fetchall()
    return connection


def remove_empty_log(path: Path) -> None:
    """Remove the -wal and -shm files that a reader had to make, unless somebody uses them: it cannot do so itself."""
    if _log_size(path) == 0:
        with suppress(apsw.Error), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.execute("pragma schema_version").fetchall()


def has_log(path: Path) -> bool:
    """Whether a -wal file stands beside a database."""
    return _log_size(path) is not None


def _connected(name: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(name, flags=flags, statementcachesize=_STATEMENTS)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # without it SQLite looks at bound values when it plans, and prepares a statement again at every new value
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """Change to WAL mode, waiting for others: here SQLite itself does not."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode = wal").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)


def _log_size(path: Path) -> int | None:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return None
