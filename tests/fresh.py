"""Fresh databases for tests that do not ask how a file is opened: one file and one connection, as new for each of them.

Whoever opens a file parses its schema, which takes longer than most tests. So between two tests the pages of a fresh file
are put in the place of those that a test has left, with the number by which SQLite tells schemas apart. Where a test has
left anything else (a connection that is closed, a transaction, another pragma, a temporary trigger, a file, a right), its
file and its connection are thrown away.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
from audit import audit

import engine
from engine.build import installed
from engine.known_files import is_beside
from engine.registration import register
from engine.rights import Rights

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


@contextmanager
def fresh() -> Iterator[engine.Database]:
    """A database like one that was just made, audited at the end; its folder holds nothing else."""
    while _kept and _kept[0].build != installed().hash:  # there is another plugin
        _kept.pop().close()
    if not _kept:
        _kept.append(_Kept())
    kept = _kept[0]
    db = kept.lend()
    try:
        yield db
    finally:
        if not kept.is_unchanged(db):
            _kept.clear()
            db.close()
        try:
            audit(kept.path)
        finally:
            if not _kept:
                kept.close()


class _Kept:
    """A file, a connection to it, and what both were like when they were new."""

    def __init__(self) -> None:
        self.build = installed().hash
        self.folder = tempfile.TemporaryDirectory(prefix="fresh-")
        self.path = Path(self.folder.name) / "file" / "t.db"
        self.path.parent.mkdir()
        self.image = str(Path(self.folder.name) / "image.db")
        self.connection = engine.open(self.path).connection
        with closing(apsw.Connection(str(self.path))) as file, closing(apsw.Connection(self.image)) as image:
            self.number = file.pragma("schema_version")
            with image.backup("main", file, "main") as backup:
                backup.step()
        self.state = self._state()

    def lend(self) -> engine.Database:
        """A handle that knows nothing of earlier ones, on the file as it was when it was new."""
        with closing(apsw.Connection(self.image)) as image, closing(apsw.Connection(str(self.path))) as file:
            with file.backup("main", image, "main") as backup:
                backup.step()
            file.pragma("schema_version", self.number)
        # nor is the header read: whoever closes a file takes the locks of his process from it
        with patch.multiple("engine.database", connect_to_write=self._connection, check_header=lambda *_, **__: None):
            return engine.open(self.path)

    def is_unchanged(self, db: engine.Database) -> bool:
        """Whether a test that used this handle has left nothing but rows."""
        try:
            idle = not self.connection.in_transaction and self.connection.txn_state("main") == apsw.SQLITE_TXN_NONE
            same = idle and db.connection is self.connection and self._state() == self.state
        except apsw.Error:
            return False
        # the handles of asyncio are closed with the one that has them
        return same and not db._drivers and "_handles" not in vars(db)

    def close(self) -> None:
        """Close the connection and remove the file."""
        self.connection.close()
        self.folder.cleanup()

    def _connection(self, path: Path, clock: Any, synchronous: str, trust: Any, rights: Rights, **_: Any) -> Any:
        self.connection.exec_trace = self.connection.authorizer = None
        register(self.connection, clock, rights.confirmed, partial(is_beside, path))
        return self.connection

    def _state(self) -> tuple[Any, ...]:
        files = sorted((entry.name, entry.inode()) for entry in os.scandir(self.path.parent))
        rights = Rights(self.path.resolve())._known()
        limits = [self.connection.limit(kind) for kind in range(11)]
        configs = [self.connection.config(each, -1) for each in CONFIGS]
        pragmas = [self.connection.pragma(name) for name in PRAGMAS]
        # 'temp' is among them as soon as something temporary was made or looked for
        databases = [name for _, name, _ in self.connection.execute("pragma database_list")]
        return files, rights, limits, configs, pragmas, databases
