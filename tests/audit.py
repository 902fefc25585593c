"""The audit that every test ends with: a file that a test has touched is still sound and readable."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import apsw

import engine

SHOWN = 5
# where the tables lie counts too: a connection that knows the schema looks for them there
_SCHEMA = "select group_concat(printf('%s %d %s', name, rootpage, sql), ';' || char(10)) from sqlite_schema"
_INDEXES = "select name from sqlite_schema where sql like 'create virtual table%'"
_readable: set[str] = set()
"""The schemas that the standard library has read: to parse one takes as long as all else here."""


def audit(path: Path, reader: Reader | None = None) -> None:
    """Check the engine file at `path`, by its `reader` where it has one; raise `AssertionError` with all that is wrong.

    Four questions: is the file intact, do all foreign keys hold, does every view named
    ``_invariant_*`` return no row, and can the standard library's `sqlite3` read its schema.
    """
    if reader is not None and reader.is_current():
        connection, schema = reader.connection, reader.schema
    else:
        copy = _copy()
        connection, schema = copy.reader, copy.take(path)
    # an index of words notices that its pages are others when it is asked, not when it is checked
    for (index,) in connection.execute(_INDEXES).fetchall():
        connection.execute(f'select 1 from "{index}" limit 1').fetchall()
    found = _integrity(connection) + _foreign_keys(connection) + _invariants(connection)
    if schema not in _readable:
        found += _standard_library(path)
    if not found:
        _readable.add(schema)
    assert not found, f"audit of {path.name}:\n" + "\n".join(found)


class Reader:
    """A connection that reads one file again and again, and the schema that it has parsed."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        engine.register(self.connection)
        self.schema = _schema(self.connection)

    def is_current(self) -> bool:
        """Whether the file has that schema still: who wrote another one by hand need not have changed its number."""
        return _schema(self.connection) == self.schema


class _Copy:
    """A copy of the file that is audited, and a connection that reads one copy after the other.

    Nearly all files have the same schema, and whoever opens one parses all of it, which takes longer than the audit. So
    the number by which SQLite tells a changed schema is changed here, and only where the text of the schema is another.
    """

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="audit-")
        self.path = str(Path(self.folder.name) / "copy.db")
        self.number = 1
        self.schema = ""
        self.reader = apsw.Connection(self.path)
        engine.register(self.reader)

    def take(self, path: Path) -> str:
        """Copy the file at `path`, page for page, and return its schema."""
        _put(path, self.path, self.number)
        schema = _schema(self.reader)
        if schema != self.schema:
            self.number += 1
            self.schema = schema
            with closing(apsw.Connection(self.path)) as copy:
                copy.pragma("schema_version", self.number)
        return schema


def _schema(connection: apsw.Connection) -> str:
    return str(connection.execute(_SCHEMA).get)


@cache
def _copy() -> _Copy:
    return _Copy()


def _integrity(connection: apsw.Connection) -> list[str]:
    rows = [row[0] for row in connection.execute("pragma integrity_check")]
    return [] if rows == ["ok"] else [f"integrity_check: {row}" for row in rows]


def _foreign_keys(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("pragma foreign_key_check").fetchall()
    return [f"foreign_key_check: row {rowid} of {table} names no row of {parent}" for table, rowid, parent, _ in rows]


def _invariants(connection: apsw.Connection) -> list[str]:
    views = connection.execute(
        "select name from sqlite_schema where type = 'view' and name glob '*invariant_*' order by name"
    ).fetchall()
    return [
        f"{view}: {row}"
        for (view,) in views
        for row in connection.execute(f'select * from "{view}" limit {SHOWN}').fetchall()
    ]


def _standard_library(path: Path) -> list[str]:
    # The schema is parsed when it is first read: one construct unknown to SQLite makes all of it unreadable. A copy is read:
    # two libraries of SQLite in one process take from each other the locks and the log of a file.
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        place = str(Path(folder) / path.name)
        _put(path, place)
        with closing(sqlite3.connect(place)) as connection:
            try:
                connection.execute("select count(*) from sqlite_schema").fetchone()
            except sqlite3.Error as error:
                return [f"sqlite3 {sqlite3.sqlite_version} of the standard library: {error}"]
    return []


def _put(path: Path, place: str, number: int | None = None) -> None:
    """Copy the file at `path`, page for page, to `place`, with that number of its schema."""
    # not by engine.open, which would refuse or rebuild what a test has changed in the schema
    with closing(apsw.Connection(str(path))) as source, closing(apsw.Connection(place)) as copy:
        with copy.backup("main", source, "main") as backup:
            backup.step()
        if number is not None:
            copy.pragma("schema_version", number)
