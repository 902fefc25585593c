"""The audit that every test ends with: a file that a test has touched is still sound and readable."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw

import engine

SHOWN = 5
_readable: set[str] = set()
"""The schemas that the standard library has read: to parse one takes as long as all else here."""


def audit(path: Path) -> None:
    """Check the engine file at `path`; raise `AssertionError` that lists everything found wrong.

    Four questions: is the file intact, do all foreign keys hold, does every view named
    ``invariant_*`` or ``_invariant_*`` return no row, and can the standard library's `sqlite3` read its schema.
    """
    # not by engine.open, which would refuse or rebuild what a test has changed in the schema
    with closing(apsw.Connection(str(path))) as connection:
        engine.register(connection)
        found = _integrity(connection) + _foreign_keys(connection) + _invariants(connection)
        schema = connection.execute("select group_concat(sql, ';') from sqlite_schema").get
    if schema not in _readable:
        found += _standard_library(path)
    if not found:
        _readable.add(schema)
    assert not found, f"audit of {path.name}:\n" + "\n".join(found)


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
    # The schema is parsed when it is first read: one construct unknown to SQLite makes all of it unreadable.
    with closing(sqlite3.connect(path)) as connection:
        try:
            connection.execute("select count(*) from sqlite_schema").fetchone()
        except sqlite3.Error as error:
            return [f"sqlite3 {sqlite3.sqlite_version} of the standard library: {error}"]
    return []
