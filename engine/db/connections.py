"""Connections to an engine file. One that writes brings the file up to date first; one that reads changes nothing."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

import apsw

from engine.errors import EngineError, NotFound
from engine.schema import update as schemas
from engine.schema.build import installed
from engine.trust import known_files
from engine.trust.rights import Rights

from .descriptors import MAKING
from .locate import FOLDER, remove_folder
from .own_files import identity
from .registration import Clock, register

BUSY_TIMEOUT_MS = 5_000
OPENING_TIMEOUT_MS = 20_000
"""Longer, because whoever opens a file first or after an update builds its schema, and others wait for that."""
MEMORY = ":memory:"
_STATEMENTS = 1024
"""Size of the cache of prepared statements. Each execution takes the next place in it and drops the statement there, even
where one statement runs again and again. A turn has some hundred executions; a small cache costs it 10 ms and more."""
_RETRY_S = 0.01
_TRIES = 3
"""How often a file is opened that other processes make and remove meanwhile."""
_HEADER_BYTES = 100


def connect_to_write(
    path: Path,
    clock: Clock,
    synchronous: str,
    trust: schemas.Trust,
    rights: Rights,
    *,
    private: bool = False,
    admit: schemas.Admit | None = None,
    on_made: Callable[[int], None] | None = None,
) -> apsw.Connection:
    """A connection that writes to the file at `path`, which is created or brought up to date with this build first.

    With `private`, and in a folder `.engine`, a new file has mode 0600. `admit` raises where the file must not be written,
    by default where this user does not know it and it would act (`known_files`). `on_made` gets the version of the
    data of a file that was made here, as it was before anybody else has written to it.
    """
    if admit is None and trust is not True and str(path) != MEMORY:
        admit = partial(known_files.admit, path=path)
    connection, made = _held(path, private=private or path.parent.name == FOLDER, measured=on_made is not None)
    try:
        if str(path) == MEMORY:
            installed().fresh.copy_to(connection)
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
    except BaseException:
        connection.close()
        raise
    if made is not None and on_made is not None:
        on_made(made)
    return connection


def _held(path: Path, *, private: bool, measured: bool) -> tuple[apsw.Connection, int | None]:
    """A connection to the file that has the name once it was read; if `measured`, of one that was made here also the version
    of its data as long as nobody else has written to it, else None.

    Who opens a file that another process is about to remove (`remove_as_made`) waits for that, and opens the next one.
    """
    for tries_left in reversed(range(_TRIES)):
        made = None if str(path) == MEMORY or path.exists() else _make(path, private=private, measured=measured)
        logged, named = bool(log_size(path)), identity(path)
        connection = _connected(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        # a file that is refused is left as it was: its log, which may be that of another database, is not written into it
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(logged))
        try:
            connection.set_busy_timeout(OPENING_TIMEOUT_MS)
            connection.execute("pragma schema_version").fetchall()
            version, found = version_and_content(connection) if made and measured else (0, None)
        except BaseException:
            connection.close()
            raise
        if named is None or identity(path) == named or not tries_left:
            return connection, version if made and found == made else None
        connection.close()
    raise AssertionError("the last try returns or raises")


def _make(path: Path, *, private: bool, measured: bool) -> str | None:
    """Make a new file, which this user knows; if `measured`, returns what it holds, as the digest that
    `version_and_content` gives.

    None where that fails; then SQLite makes it when it is opened.
    """
    mark = known_files.new_mark()
    if installed().fresh.write(path, mark, private=private):
        known_files.note_new(path, mark)
        return _digest(installed().fresh.marked(mark)) if measured else None
    if private:
        with suppress(OSError), MAKING:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            return _digest(b"")
    return None


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


def _existing(path: Path) -> apsw.Connection:
    """A connection that only reads; other processes may make and remove the file meanwhile."""
    for tries_left in reversed(range(_TRIES)):
        if not path.exists():
            raise NotFound(f"{path}: there is no such file")
        try:
            return _connected(str(path), apsw.SQLITE_OPEN_READONLY)
        except apsw.CantOpenError:
            if not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def connect_beside(path: Path, clock: Clock, rights: Rights) -> apsw.Connection:
    """A connection that only reads a file that this process has open for writing, and has the same functions."""
    connection = _connected(str(path), apsw.SQLITE_OPEN_READONLY)
    register(connection, clock, rights.confirmed, partial(known_files.is_beside, path))
    return connection


def remove_empty_log(path: Path) -> None:
    """Remove the empty -wal and -shm files that a reading connection made, unless another process uses them."""
    if log_size(path) == 0:
        with suppress(apsw.Error), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.execute("pragma schema_version").fetchall()


def version_and_content(connection: apsw.Connection) -> tuple[int, str]:
    """The version of the data of a file, which changes when another connection writes, and the digest of what it holds."""
    with connection:
        version = int(connection.pragma("data_version"))
        found = _digest(_bytes_of(connection))
    return version, found


def _bytes_of(connection: apsw.Connection) -> bytes:
    """The file of a connection; SQLite would write a first page into an empty one to give that."""
    return (connection.serialize("main") or b"") if connection.pragma("page_count") else b""


def _digest(image: bytes) -> str:
    """The SHA-256 (hex) of a file without its header, which changes with the mode of its log."""
    return hashlib.sha256(memoryview(image)[_HEADER_BYTES:]).hexdigest()


def remove_as_made(path: Path, as_made: str) -> None:
    """Remove a file of which what it holds has the digest `as_made`, and that nobody has open.

    Who opens it meanwhile waits for that, and sees that it is gone (`_held`).
    """
    # a connection of its own: one that has read the file before would look at what it remembers
    with suppress(apsw.Error, OSError), closing(_connected(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(0)  # who has it open uses it
        connection.execute("pragma locking_mode = exclusive").fetchall()
        # in the mode of a log the first look takes a lock that excludes everybody, and is kept
        if _digest(_bytes_of(connection)) != as_made:
            return
        # removes the log now: at the close it would be removed by its name, which may be that of the next file's by then
        connection.execute("pragma journal_mode = memory").fetchall()
        path.unlink()
    remove_folder(path)


def is_name(path: str) -> bool:
    """Whether a path can name a file: it holds no NUL and is UTF-8."""
    return "\0" not in path and not any("\ud800" <= character <= "\udfff" for character in path)


def has_log(path: Path) -> bool:
    """Whether a -wal file stands beside a database."""
    return log_size(path) is not None


def _connected(name: str, flags: int) -> apsw.Connection:
    with MAKING:  # a new file: no other descriptor of it is closed after this one is open
        connection = apsw.Connection(name, flags=flags, statementcachesize=_STATEMENTS)
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
