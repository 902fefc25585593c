"""The function `late_call`: it calls a door by its name, so that SQLite compiles that door when it is first called.

SQLite compiles a statement with every trigger that it can reach. What few statements come to is called through here by
`_late_call`, and costs the others nothing (SPEC @late_calls).
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import apsw

from engine.errors import Conflict, NeedsModule, PermissionDenied, ValidationError

if TYPE_CHECKING:
    import sqlite3

_NAME = re.compile(r"[a-z_]+")
_DEEPEST = 100
"""Calls within calls. Each takes some 2.5 KB of the stack, of which a thread may have no more than 512 KB."""
_SCHEMAS = "select cast(name as blob) from pragma_database_list where name <> 'temp'"
_IS_OURS = "select count(*) = 2 from pragma_table_info('engine_meta', ?) where name in ('key', 'value')"
_MARKED = "select (select value from {}.engine_meta where key = 'mark') is ?"
_COLUMNS = "select count(*) from pragma_table_info(?, ?)"


def _quoted(schema: str) -> str:
    return '"' + schema.replace('"', '""') + '"'


class LateCalls:
    """Calls the doors of the engine files of one connection."""

    def __init__(self, connection: apsw.Connection | sqlite3.Connection) -> None:
        # the connection holds the function, and nothing would end the circle
        self._connection: Callable[[], Any] = _weakly(connection)
        self._insertions: dict[tuple[str, str], tuple[str, int]] = {}
        self._depth = 0

    def call(self, mark: str | None, door: str, *values: Any) -> None:
        """Insert a row into `door` of the file with the `mark`: of `values` as many as the door has columns.

        Raises what the door raises, `ValidationError` (400) for another name and for calls that are nested too deep,
        `PermissionDenied` (403) in a statement that reads, `Conflict` (409) where two attached files have the mark
        and, with apsw, both are written.
        """
        if self._depth == _DEEPEST:
            raise ValidationError("triggers nested too deep; correct the statement")
        self._depth += 1
        try:
            self._insert(mark, door, values)
        finally:
            self._depth -= 1

    def _insert(self, mark: str | None, door: str, values: tuple[Any, ...]) -> None:
        connection = self._connection()
        schemas = _schemas(connection)
        written = _written(connection, schemas)
        if not written:  # a view of a file from elsewhere may call the function
            raise PermissionDenied("late_call: only a statement that writes can call a door")
        schema = schemas[0] if len(schemas) == 1 else _schema_of(connection, written, mark)
        known = self._insertions.get((schema, door))
        insertion, columns = known or self._insertion(connection, schema, door)
        try:
            _cursor(connection).execute(insertion, values[:columns])
        except Exception:
            # another build, or another file of that name, may have given the door more columns, or fewer
            if known is None or known == (changed := self._insertion(connection, schema, door)):
                raise
            insertion, columns = changed
            _cursor(connection).execute(insertion, values[:columns])

    def _insertion(self, connection: Any, schema: str, door: str) -> tuple[str, int]:
        columns = 0
        if isinstance(door, str) and _NAME.fullmatch(door):
            columns = _cursor(connection).execute(_COLUMNS, (door, schema)).fetchone()[0]
        if not columns:
            if module := _module_of(door):
                raise NeedsModule(module)
            raise ValidationError(f"late_call: no such door: {repr(door)[:99]}")
        # names of the file; the standard library begins a transaction, which the app would have to end, before what begins
        # with 'insert', and none before 'with'
        values = ", ".join("?" * columns)
        insertion = f"with _ as (select 1) insert into {_quoted(schema)}.{door} values ({values})"  # noqa: S608
        self._insertions[schema, door] = insertion, columns
        return insertion, columns


def _module_of(door: Any) -> str | None:
    """The module that makes a door which the file does not have."""
    from engine.schema.build import installed

    return installed().owners.get(str(door).lower())


def _weakly(connection: Any) -> Callable[[], Any]:
    """The connection without keeping it open; the standard library's own class allows that to its subclasses only."""
    try:
        return weakref.ref(connection)
    except TypeError:
        return lambda: connection


def _cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever an app has set for those of its own statements."""
    cursor = connection.cursor()
    if isinstance(connection, apsw.Connection):
        cursor.exec_trace = cursor.row_trace = None
    else:
        cursor.row_factory = None
    return cursor


def _schemas(connection: Any) -> list[str]:
    """The names of the files of a connection."""
    if isinstance(connection, apsw.Connection):
        return [name for name in connection.db_names() if name != "temp"]
    # as BLOBs, whatever an app has set for texts
    return [name.decode() for (name,) in _cursor(connection).execute(_SCHEMAS)]


def _written(connection: Any, schemas: list[str]) -> list[str]:
    """The files that the transaction writes, where the connection tells: no other one makes a call, nor is it read here."""
    if isinstance(connection, apsw.Connection):
        return [name for name in schemas if connection.txn_state(name) == apsw.SQLITE_TXN_WRITE]
    return schemas


def _schema_of(connection: Any, schemas: list[str], mark: str | None) -> str:
    """The name under which the file with the mark is attached; others are an app's, or other engine files."""
    found = [schema for schema in schemas if _has(connection, schema, mark)]
    if not found:
        raise ValidationError(f"late_call: no attached file has the mark {repr(mark)[:99]}")
    if len(found) > 1:
        raise Conflict("two copies of the same database are attached to this connection; detach one copy to write")
    return found[0]


def _has(connection: Any, schema: str, mark: str | None) -> bool:
    if not _cursor(connection).execute(_IS_OURS, (schema,)).fetchone()[0]:
        return False
    return bool(_cursor(connection).execute(_MARKED.format(_quoted(schema)), (mark,)).fetchone()[0])
