"""Creates, migrates and rebuilds the schema of an engine file.

Tables migrate; views and triggers are rebuilt whenever the files in sql/ have changed or somebody changed the objects.
All of it is one transaction: an open either finishes or leaves the file as it was.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path

import apsw

from . import plugins, texts
from .errors import Conflict, EngineError, ValidationError
from .registration import register

APPLICATION_ID = 0x454E474E
"""The mark of an engine file in its header: 'ENGN'."""

VERSION = 1
"""The version of the tables; migrations lead from one to the next."""

_MAGIC = b"SQLite format 3\x00"
_OBJECT = re.compile(r"^create (?:unique )?(view|trigger)\s+(?:if not exists )?(\w+)", re.MULTILINE)

_BOOTSTRAP = """
create table if not exists engine_meta (key text primary key, value text not null) strict, without rowid;
create table if not exists engine_objects (
    name text primary key,
    type text not null constraint engine_objects_type check (type in ('view', 'trigger'))
) strict, without rowid;
"""


@cache
def sources() -> tuple[tuple[str, str], ...]:
    """The SQL files in load order, the engine's before those of plugins, as (name, text)."""
    folder = files("engine.sql")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    own = [(name, (folder / name).read_text("utf-8")) for name in names]
    return (*own, *plugins.sql_files())


def check_header(path: Path) -> None:
    """Refuse a file that is not the engine's, reading its first bytes only.

    Raises `ValidationError` (400) for a folder or a file that is no SQLite database, `Conflict` (409) for one of another
    application or of a newer engine.
    """
    if path.is_dir():
        raise ValidationError(f"{path}: is a folder; name a database file, such as {path / 'engine.db'}")
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    except PermissionError:
        raise EngineError(f"{path}: cannot be read; check its permissions", 403) from None
    if not header:
        return
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise ValidationError(f"{path}: is not a database; it is left as it is")
    owner = int.from_bytes(header[68:72], "big")
    if owner != APPLICATION_ID:
        raise Conflict(
            f"{path}: is a database of another application and is left as it is; "
            "give the engine a file of its own, or attach it with engine.attach()"
        )
    # a version that still stands in the write-ahead log alone is found by prepare()
    _refuse_newer(path, int.from_bytes(header[60:64], "big"))


def prepare(connection: apsw.Connection) -> None:
    """Bring an open database to the present version, with the views and triggers of this engine.

    Raises `Conflict` (409) for a file of a newer engine, and while a live driver holds a lease on a file that would have to
    be rebuilt.
    """
    version = int(connection.pragma("user_version"))
    _refuse_newer(connection.filename, version)
    if version == VERSION and _is_current(connection):
        return
    connection.execute("begin immediate")
    try:
        if not (version == VERSION and _is_current(connection)):
            _rebuild(connection, version)
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def _is_current(connection: apsw.Connection) -> bool:
    """Whether the objects in the file are the ones that the files in sql/ make."""
    try:
        known = {str(key): value for key, value in connection.execute("select key, value from engine_meta")}
    except apsw.SQLError:
        return False
    return known.get("sources") == _source_hash() and known.get("objects") == _object_hash(connection)


@cache
def _source_hash() -> str:
    digest = hashlib.sha256()
    for name, text in (*sources(), *texts.personas()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()


def _object_hash(connection: apsw.Connection) -> str:
    digest = hashlib.sha256()
    rows = connection.execute(
        "select s.name, s.sql from sqlite_schema as s join engine_objects as o on o.name = s.name order by s.name"
    )
    for name, sql in rows:
        digest.update(f"{name}\0{sql}\0".encode())
    return digest.hexdigest()


def _rebuild(connection: apsw.Connection, version: int) -> None:
    _drain(connection, _BOOTSTRAP)
    _refuse_while_driven(connection)
    _drop_rules(connection)
    connection.execute("delete from engine_objects")
    for number, text in _migrations():
        if version < number <= VERSION and version > 0:
            _drain(connection, text)
    _run_sources(connection, made_before=version > 0)
    connection.executemany(
        "insert into personas (name, body) values (?, ?) on conflict (name) do update set body = excluded.body",
        texts.personas(),
    )
    connection.executemany(
        "insert into engine_meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
        (("sources", _source_hash()), ("objects", _object_hash(connection))),
    )
    connection.execute(f"pragma user_version = {VERSION}")


def _drop_rules(connection: apsw.Connection) -> None:
    """Drop the views and triggers that `engine_objects` names; what else stands there is text, never SQL."""
    rules = connection.execute(
        "select type, name from sqlite_schema where type in ('view', 'trigger') "
        "and (type, name) in (select type, name from engine_objects) order by type"
    ).fetchall()
    for kind, name in rules:
        _run_one(connection, f"drop {kind} if exists {_quoted(name)}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _run_one(connection: apsw.Connection, sql: str) -> None:
    """Run one statement; a text of several is an error, and none after the first is run."""
    begun = 0

    def is_first(*_: object) -> bool:
        nonlocal begun
        begun += 1
        return begun == 1

    cursor = connection.cursor()
    cursor.exec_trace = is_first
    cursor.execute(sql).fetchall()


def _run_sources(connection: apsw.Connection, made_before: bool) -> None:
    problem = None
    try:
        for _, text in sources():
            _drain(connection, text)
            connection.executemany("insert into engine_objects (type, name) values (?, ?)", _OBJECT.findall(text))
    except apsw.SQLError as error:
        if not made_before:
            raise
        problem = str(error)
    if made_before and (problem or (missing := _fresh_columns() - _columns(connection))):
        raise Conflict(
            f"{connection.filename}: was written by another build of this version and is left as it is "
            f"({problem or 'without ' + '.'.join(min(missing))}); start a new file, or open it with that build"
        )


@cache
def _fresh_columns() -> frozenset[tuple[str, str]]:
    """Table and name of each column that a new file has."""
    with closing(apsw.Connection(":memory:")) as fresh:
        register(fresh)
        _drain(fresh, _BOOTSTRAP)
        for _, text in sources():
            _drain(fresh, text)
        return _columns(fresh)


def _columns(connection: apsw.Connection) -> frozenset[tuple[str, str]]:
    found = connection.execute(
        "select t.name, c.name from sqlite_schema as t join pragma_table_info(t.name) as c where t.type = 'table'"
    )
    return frozenset((str(table), str(column)) for table, column in found)


def _refuse_newer(file: str | Path, version: int) -> None:
    if version > VERSION:
        raise Conflict(
            f"{file}: was written by a newer engine (version {version}, this one knows {VERSION}); update the engine"
        )


def _migrations() -> list[tuple[int, str]]:
    folder = files("engine.sql") / "migrations"
    if not folder.is_dir():
        return []
    found = [
        (int(entry.name[:3]), entry.read_text("utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql")
    ]
    return sorted(found)


def _refuse_while_driven(connection: apsw.Connection) -> None:
    leased = connection.execute("select 1 from sqlite_schema where name = 'leases'").fetchone()
    if leased and connection.execute("select 1 from leases where expires_at > now()").fetchone():
        raise Conflict(
            f"{connection.filename}: a run is being driven by another version of the engine; wait for it, then open again"
        )


def _drain(connection: apsw.Connection, sql: str) -> None:
    """Run all statements of a script; an undrained cursor would stop at the first row."""
    for _ in connection.execute(sql):
        pass
