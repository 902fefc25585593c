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

from engine.errors import Conflict, ValidationError

if TYPE_CHECKING:
    import sqlite3

_NAME = re.compile(r"[a-z_]+")
_IS_OURS = "select count(*) = 2 from pragma_table_info('engine_meta', ?) where name in ('key', 'value')"
_MARKED = "select 1 from {}.engine_meta where key = 'mark' and value = ?"
_COLUMNS = "select count(*) from pragma_table_info(?, ?)"


def _quoted(schema: str) -> str:
    return '"' + schema.replace('"', '""') + '"'


class LateCalls:
    """Calls the doors of the engine files of one connection."""

    def __init__(self, connection: apsw.Connection | sqlite3.Connection) -> None:
        # apsw's connection holds the function, and nothing would end the circle; the standard library's allows no weak one
        self._connection: Callable[[], Any] = (
            weakref.ref(connection) if isinstance(connection, apsw.Connection) else lambda: connection
        )
        self._insertions: dict[tuple[str, str], tuple[str, int]] = {}

    def call(self, mark: str | None, door: str, *values: Any) -> None:
        """Insert a row into `door` of the file with the `mark`: of `values` as many as the door has columns.

        Raises what the door raises, `ValidationError` (400) for another name, `Conflict` (409) where two attached files have
        the mark.
        """
        connection = self._connection()
        schemas = _schemas(connection)
        schema = schemas[0] if len(schemas) == 1 else _schema_of(connection, schemas, mark)
        insertion, columns = self._insertions.get((schema, door)) or self._insertion(connection, schema, door)
        connection.execute(insertion, values[:columns])

    def _insertion(self, connection: Any, schema: str, door: str) -> tuple[str, int]:
        columns = 0
        if isinstance(door, str) and _NAME.fullmatch(door):
            columns = connection.execute(_COLUMNS, (door, schema)).fetchone()[0]
        if not columns:
            raise ValidationError(f"late_call: there is no door {repr(door)[:99]}")
        # names of the file
        insertion = f"insert into {_quoted(schema)}.{door} values ({', '.join('?' * columns)})"  # noqa: S608
        self._insertions[schema, door] = insertion, columns
        return insertion, columns


def _schemas(connection: Any) -> list[str]:
    """The names of the files of a connection, in the order in which SQLite looks for a name."""
    if isinstance(connection, apsw.Connection):
        names = connection.db_names()
    else:
        names = [name for _, name, _ in connection.execute("pragma database_list")]
    return [name for name in names if name != "temp"]


def _schema_of(connection: Any, schemas: list[str], mark: str | None) -> str:
    """The name under which the file with the mark is attached; others are an app's, or other engine files."""
    found = [schema for schema in schemas if _has(connection, schema, mark)]
    if len(found) != 1:
        raise Conflict("two copies of one engine file are attached to one connection; detach one of them to write")
    return found[0]


def _has(connection: Any, schema: str, mark: str | None) -> bool:
    if not connection.execute(_IS_OURS, (schema,)).fetchone()[0]:
        return False
    return connection.execute(_MARKED.format(_quoted(schema)), (mark,)).fetchone() is not None
