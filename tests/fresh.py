"""Fresh databases for tests that do not ask how a file is opened: one file and its connections, as new for each of them.

Whoever opens a file parses its schema, and whoever drives a run compiles its statements: both take longer than most tests.
So between two tests the pages of a fresh file are put in the place of those that a test has left, with the number by which
SQLite tells schemas apart. Connections, those of drivers in other threads among them, are not closed with their handles but
given to the next ones. The file has all modules, because to take one in changes its schema. Where a test has left anything
else on a connection (a transaction, another pragma, a temporary trigger, a function), it is closed; where it has left a
handle, a file, a right or another schema, the file is thrown away.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
from audit import Reader, audit

import engine
from engine.api.database import Database
from engine.db import database as stores
from engine.db.connections import MEMORY
from engine.schema.build import installed
from engine.schema.registration import register
from engine.system.own_files import identity
from engine.trust.known_files import is_beside
from engine.trust.rights import Rights

PRAGMAS = (
    "busy_timeout",
    "cache_size",
    "defer_foreign_keys",
    "foreign_keys",
    "ignore_check_constraints",
    "journal_mode",
    "max_page_count",
    "query_only",
    "recursive_triggers",
    "synchronous",
    "temp_store",
    "trusted_schema",
    "wal_autocheckpoint",
    "writable_schema",
)
CONFIGS = (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, apsw.SQLITE_DBCONFIG_DEFENSIVE, apsw.SQLITE_DBCONFIG_ENABLE_QPSG)
_kept: list[_Kept] = []
"""Those that no test has."""
_CLOSED = apsw.Connection(":memory:")
_CLOSED.close()


def take_in_all(db: engine.Database) -> None:
    """Take all modules into a file."""
    db.install(*(module.name for module in installed().offered))


@contextmanager
def fresh(*, audited: bool = True, **options: Any) -> Iterator[engine.Database]:
    """A database like one that was just made, audited at the end unless that is not wanted; its folder holds nothing else.

    `options` are a `clock` and `tools`, as in `engine.open`.
    """
    while _kept and _kept[-1].build != installed().hash:  # there is another plugin
        _kept.pop().remove()
    kept = _kept.pop() if _kept else _Kept()
    try:
        db = kept.lend(**options)
        try:
            yield db
        finally:
            db.close()
    finally:
        try:
            if audited:
                audit(kept.path, kept.reader)
        finally:
            if kept.is_as_it_was():
                _kept.append(kept)
            else:
                kept.remove()


@contextmanager
def stays_open(path: Path) -> Iterator[None]:
    """While the handles that this process opens on the file at `path`, one after the other, use the same connections.

    For tests of command lines, each of which opens a file and closes it, where that is not what is tested.
    """
    place = os.path.realpath(path)
    idle = _staying[place] = []
    try:
        yield
    finally:
        del _staying[place]
        for connection in idle:
            connection.close()


class _Connection(apsw.Connection):
    """A connection that registers a function only where it has another one, or none, of that name.

    To register one makes SQLite compile all statements again, and so do the pragmas that go with them.
    """

    is_registering = False

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.functions: dict[tuple[str, int], Callable[..., Any]] = {}
        """By name and number of arguments."""
        self.handlers: set[Any] = set()
        """What is called while a statement runs."""
        self.new: Any = None
        """The state that it had when it was new."""
        self.file: Any = None
        """Device and inode of the file of one that stays open; the build that made it, where it is in memory."""
        self.stays_in: list[_Connection] | None = None
        """Where it waits for the next handle instead of being closed."""

    def set_progress_handler(self, callable: Any, *given: Any, id: Any = None) -> None:  # noqa: A002 - apsw's names
        self.handlers.add(id)
        super().set_progress_handler(callable, *given, id=id)

    def close(self, force: bool = False) -> None:
        waiting = self.stays_in
        if waiting is None or all(each is not waiting for each in _staying.values()) or not self.is_as_new():
            super().close(force)
        elif self not in waiting:
            waiting.append(self)

    def is_as_new(self) -> bool:
        """Whether whoever had it has left nothing on it."""
        try:
            if self.in_transaction or self.txn_state("main") != apsw.SQLITE_TXN_NONE:
                return False
            if self.exec_trace is not None or self.authorizer is not None:
                return False
            while self.handlers:
                super().set_progress_handler(None, id=self.handlers.pop())
            if not self.readonly("main"):
                self.pragma("synchronous", "full")  # drivers in threads synchronize in their own way
            return _state(self) == self.new
        except apsw.Error:
            return False

    def create_scalar_function(
        self, name: str, function: Any, numargs: int = -1, *, deterministic: bool = False, flags: int = 0
    ) -> None:
        key = (name, numargs)
        before, self.functions[key] = self.functions.get(key), function
        if deterministic or function is None:
            if before is not function:
                super().create_scalar_function(name, function, numargs, deterministic=deterministic, flags=flags)
        elif before is None:
            # the clock and the like are others with each handle
            functions = self.functions
            super().create_scalar_function(name, lambda *given: functions[key](*given), numargs, flags=flags)

    def execute(self, statements: str, *given: Any, **named: Any) -> apsw.Cursor:
        return super().execute("" if self.is_registering else statements, *given, **named)

    def register_again(self, *given: Any) -> None:
        """Register the functions of the engine on a connection that had them already."""
        self.is_registering = True
        register(self, *given)
        self.is_registering = False


class _Kept:
    """A file, idle connections to it, and what all of them were like when they were new."""

    def __init__(self) -> None:
        self.build = installed().hash
        self.folder = tempfile.TemporaryDirectory(prefix="fresh-")
        self.path = Path(self.folder.name) / "file" / "t.db"
        self.path.parent.mkdir()
        self._idle: list[_Connection] = []
        self._lent = 0
        self._lock = threading.Lock()
        with engine.open(self.path) as db:
            take_in_all(db)
        self._idle.append(_made(lambda: engine.open(self.path).connection))
        self._file = apsw.Connection(str(self.path))
        self._image = apsw.Connection(str(Path(self.folder.name) / "image.db"))
        self.number = self._file.pragma("schema_version")
        with self._image.backup("main", self._file, "main") as backup:
            backup.step()
        self.reader = Reader(self.path)
        self._files = self._beside()

    def lend(self, **options: Any) -> engine.Database:
        """A handle that knows nothing of earlier ones, on the file as it was when it was new."""
        with self._file.backup("main", self._image, "main") as backup:
            backup.step()
        self._file.pragma("schema_version", self.number)
        return self._handle(lambda: engine.open(self.path, **options))

    def is_as_it_was(self) -> bool:
        """Whether no handle is left, nor a file, a right or another schema.

        A connection that has read one schema does not notice another one that has the same number.
        """
        same = self._file.pragma("schema_version") == self.number
        return same and not self._lent and self._beside() == self._files

    def remove(self) -> None:
        """Close the connections and remove the file."""
        while self._idle:
            self._idle.pop().close()
        for connection in (self._file, self._image, self.reader.connection):
            connection.close()
        self.folder.cleanup()

    def _handle(self, make: Callable[[], engine.Database]) -> engine.Database:
        """The handle that `make` opens, over an idle connection where there is one; other handles of it are such, too."""
        with self._lock:
            _next.connection = self._idle.pop() if self._idle else None
            try:
                _next.connection = _next.connection or _made(lambda: engine.open(self.path).connection)
                db = make()
            finally:
                _next.connection = None
            self._lent += 1
        handle: Any = db
        handle.again = lambda **options: self._handle(partial(Database.again, db, **options))
        handle.close = lambda: self._close(db)
        return db

    def _close(self, db: engine.Database) -> None:
        connection = db.connection
        if not isinstance(connection, _Connection) or db._drivers or db.clear_errors.is_inherited:
            Database.close(db)
            return
        db.connection = _CLOSED
        try:
            Database.close(db)
        finally:
            kept = connection.is_as_new()
            with self._lock:
                self._lent -= 1
                if kept:
                    self._idle.append(connection)
            if not kept:
                connection.close()

    def _beside(self) -> tuple[Any, ...]:
        files = sorted((entry.name, entry.inode()) for entry in os.scandir(self.path.parent))
        return files, Rights(self.path.resolve())._known()


def _state(connection: _Connection) -> tuple[Any, ...]:
    """What a test could have left on a connection."""
    limits = [connection.limit(kind) for kind in range(11)]
    configs = [connection.config(each, -1) for each in CONFIGS]
    pragmas = [connection.pragma(name) for name in PRAGMAS]
    # 'temp' is among them as soon as something temporary was made or looked for
    databases = [name for _, name, _ in connection.execute("pragma database_list")]
    # a database in memory has no pages that could be put in the place of others
    changes = () if connection.filename else (connection.total_changes(), connection.pragma("schema_version"))
    return limits, configs, pragmas, databases, set(connection.functions), changes


class _Next(threading.local):
    """The connection that the next handle of this thread gets, where there is one."""

    connection: _Connection | None = None


_next = _Next()
_staying: dict[str, list[_Connection]] = {MEMORY: []}
"""The connections to files that stay open, by the place of the file, while nobody has them; and to databases in memory, each
of which was made by somebody who changed nothing in it.
"""
_making, _choosing = threading.Lock(), threading.Lock()
_write, _read, _check = stores.connect_to_write, stores.connect_to_read, stores.check_header


def _made(make: Callable[[], apsw.Connection]) -> _Connection:
    """The connection that `make` opens."""
    with _making, patch("apsw.Connection", _Connection):
        connection = make()
    assert isinstance(connection, _Connection)
    connection.new = _state(connection)
    return connection


def _idle(path: Path, *, reads: bool, make: Callable[[], apsw.Connection]) -> tuple[apsw.Connection, bool]:
    """A connection to the file at `path`, and whether it had functions already: one that stays open, or a new one."""
    in_memory = str(path) == MEMORY
    waiting = _staying.get(MEMORY if in_memory else os.path.realpath(path))
    if waiting is None:
        return make(), False
    file = installed().hash if in_memory else identity(path)
    with _choosing:
        for connection in waiting:
            if connection.file == file and connection.readonly("main") is reads:
                waiting.remove(connection)
                return connection, True
    connection = _made(make)
    connection.file, connection.stays_in = identity(path) if file is None else file, waiting
    return connection, False


def _to_write(path: Path, clock: Any, synchronous: str, trust: Any, rights: Rights, **more: Any) -> apsw.Connection:
    connection, _next.connection = _next.connection, None
    if connection is None:
        found, known = _idle(path, reads=False, make=lambda: _write(path, clock, synchronous, trust, rights, **more))
        if not known:
            return found
        connection = found
    connection.register_again(clock, rights.confirmed, partial(is_beside, path))
    return connection


def _to_read(path: Path, clock: Any) -> apsw.Connection:
    connection, known = _idle(path, reads=True, make=lambda: _read(path, clock))
    if known:
        connection.register_again(clock)
    return connection


def _checked(path: Path, *, read_only: bool) -> None:
    if _next.connection is None:
        _check(path, read_only=read_only)


vars(stores).update(connect_to_write=_to_write, connect_to_read=_to_read, check_header=_checked)
