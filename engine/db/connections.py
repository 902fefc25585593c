"""Connections to an engine file. One that writes brings the file up to date first; one that reads changes nothing.

spec: @looking
"""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import apsw

from engine.errors import EngineError, NotFound
from engine.schema import update as schemas
from engine.schema.build import installed
from engine.schema.registration import Clock, register
from engine.system.descriptors import MAKING
from engine.system.locate import FOLDER
from engine.system.own_files import identity
from engine.trust import known_files
from engine.trust.rights import Rights

if TYPE_CHECKING:
    from .new_file import NewFile

BUSY_TIMEOUT_MS = 20_000
"""SQLite lets those that wait try again at growing intervals, so of many processes one may be passed over for seconds."""
OPENING_TIMEOUT_MS = 20_000
"""Whoever opens a file first or after an update builds its schema, and others wait for that."""
MEMORY = ":memory:"
_STATEMENTS = 1024
"""Size of the cache of prepared statements. Each execution takes the next place in it and drops the statement there, even
where one statement runs again and again. A turn has some hundred executions; a small cache costs it 10 ms and more."""
_RETRY_S = 0.01
_TRIES = 3
"""How often a file is opened that other processes make and remove meanwhile."""


def connect_to_write(
    path: Path,
    clock: Clock,
    synchronous: str,
    trust: schemas.Trust,
    rights: Rights,
    *,
    private: bool = False,
    admit: schemas.Admit | None = None,
    new: NewFile | None = None,
) -> apsw.Connection:
    """A connection that writes to the file at `path`, which is created or brought up to date with this build first.

    With `private`, and in a folder `.engine`, a new file has mode 0600. `admit` raises where the file must not be written,
    by default where this user does not know it and it would act (`known_files`). `new` is told of a file that is
    made here.
    """
    if admit is None and trust is not True and str(path) != MEMORY:
        admit = partial(known_files.admit, path=path)
    connection = _held(path, new, private=private or path.parent.name == FOLDER)
    try:
        if str(path) == MEMORY:
            installed().core.fresh.copy_to(connection)
        register(connection, clock, rights.confirmed, partial(known_files.is_beside, path))
        schemas.prepare(connection, trust, admit=admit)
        _use_wal(connection)
        for pragma in (
            f"synchronous = {synchronous}",
            "temp_store = memory",
            "cache_size = -16000",
        ):
            connection.execute(f"pragma {pragma}").fetchall()
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        connection.release_memory()  # the pages that hold the schema, which SQLite has read
    except BaseException:
        connection.close()
        raise
    return connection


def _held(path: Path, new: NewFile | None, *, private: bool) -> apsw.Connection:
    """A connection to the file that has the name once it was read.

    Who opens a file that another process is about to remove (`NewFile.remove`) waits for that, and opens the next one.
    """
    for tries_left in reversed(range(_TRIES)):
        if str(path) != MEMORY and not path.exists():
            _make(path, new, private=private)
        logged, named = bool(log_size(path)), identity(path)
        connection = connected(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        # a file that is refused is left as it was: its log, which may be that of another database, is not written into it
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(logged))
        try:
            connection.set_busy_timeout(OPENING_TIMEOUT_MS)
            connection.execute("pragma schema_version").fetchall()
            if new is not None:
                new.look(connection)
        except BaseException:
            connection.close()
            raise
        if named is None or identity(path) == named or not tries_left:
            return connection
        connection.close()
    raise AssertionError("the last try returns or raises")


def _make(path: Path, new: NewFile | None, *, private: bool) -> None:
    """Make a new file, which this user knows; where that fails, SQLite makes it when it is opened."""
    mark = known_files.new_mark()
    if installed().core.fresh.write(path, mark, private=private):
        known_files.note_new(path, mark)
        if new is not None:
            new.note_made(installed().core.fresh.marked(mark))
    elif private:
        with suppress(OSError), MAKING:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            if new is not None:
                new.note_made(b"")


def connect_to_read(path: Path, clock: Clock) -> apsw.Connection:
    """A connection that only reads the file at `path`, whichever build made it; raises `NotFound` (404) without a file."""
    connection = _existing(path)
    try:
        connection.execute("select 1 from sqlite_schema").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # a file in WAL mode in a folder that cannot be written: without a log it can be read as immutable
        connection.close()
        if log_size(path):
            raise EngineError(
                f"{path}: has changes in its -wal file that cannot be read here; allow writing to the folder, or "
                "copy both files to another folder",
                403,
            ) from None
        address = f"file:{quote(str(path.absolute()))}?immutable=1"
        connection = connected(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except BaseException:
        connection.close()
        raise
    register(connection, clock)
    connection.execute("pragma query_only = on").fetchall()
    return connection


def _existing(path: Path) -> apsw.Connection:
    """A connection that only reads; other processes may make and remove the file meanwhile."""
    for tries_left in reversed(range(_TRIES)):
        if not path.exists():
            raise NotFound(f"{path}: there is no such file")
        try:
            return connected(path, apsw.SQLITE_OPEN_READONLY)
        except apsw.CantOpenError:
            if not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def connect_beside(path: Path, clock: Clock, rights: Rights) -> apsw.Connection:
    """A connection that only reads a file that this process has open for writing, and has the same functions."""
    connection = connected(path, apsw.SQLITE_OPEN_READONLY)
    register(connection, clock, rights.confirmed, partial(known_files.is_beside, path))
    return connection


def remove_empty_log(path: Path) -> None:
    """Remove the empty -wal and -shm files that a reading connection made, unless another process uses them."""
    if log_size(path) == 0:
        with suppress(apsw.Error), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.execute("pragma schema_version").fetchall()


def is_name(path: str) -> bool:
    """Whether a path can name a file: it holds no NUL and is UTF-8."""
    return "\0" not in path and not any("\ud800" <= character <= "\udfff" for character in path)


def has_log(path: Path) -> bool:
    """Whether a -wal file stands beside a database."""
    return log_size(path) is not None


def connected(name: str | Path, flags: int) -> apsw.Connection:
    """A new connection by a path or an address, set up as all of the engine are; it has read nothing yet."""
    with MAKING:  # a new file: no other descriptor of it is closed after this one is open
        connection = apsw.Connection(str(name), flags=flags, statementcachesize=_STATEMENTS)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # without this SQLite plans by the bound values, and prepares a statement again for each new value
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # the schema is changed by statements only: nobody writes to sqlite_schema or to the tables of the index
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """Change to WAL mode; wait for other connections, which SQLite itself does not do here."""
    deadline = time.monotonic() + OPENING_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode = wal").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)


def log_size(path: Path) -> int | None:
    """The bytes of the -wal file beside a database; None where there is none."""
    try:
        return os.stat(f"{os.path.realpath(path)}-wal").st_size
    except OSError:
        return None
