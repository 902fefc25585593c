"""Rows from SQLite as Arrow columns, and DuckDB's answer as values that SQLite has.

SQLite's columns have no fixed types, those of Arrow have: one with numbers alone is of numbers, any other is text.

spec: @fleet_sql
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

    from .planning import Source
    from .reading import Rows

_BATCH = 20_000
"""Rows that are kept as Python's before they become Arrow's, which are a tenth of the size."""
_ARROW = {"NULL": pa.null(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "VARCHAR": pa.string(), "BLOB": pa.binary()}


class Table:
    """The rows of a source from all files."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self._names = source.names
        self._kinds: list[set[type]] = [set() for _ in self._names]
        self._rows: Rows = []
        self._batches: list[list[pa.Array]] = []

    def add(self, rows: Rows) -> None:
        """Add the rows of a file."""
        self._rows.extend(rows)
        if len(self._rows) >= _BATCH:
            self._pack()

    @property
    def types(self) -> dict[str, str]:
        """The type of each column in DuckDB; NULL, which fits everywhere, for one without any value."""
        return {name: _type(kinds) for name, kinds in zip(self._names, self._kinds, strict=True)}

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        self._pack()
        columns = {}
        for place, (name, kind) in enumerate(self.types.items()):
            parts = [_cast(batch[place], _ARROW[kind]) for batch in self._batches]
            columns[name] = pa.chunked_array(parts, type=_ARROW[kind])
        return pa.table(columns)

    def _pack(self) -> None:
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            for kinds, column in zip(self._kinds, columns, strict=True):
                kinds.update(map(type, column))
            self._batches.append([_array(column) for column in columns])
            self._rows = []


def _type(kinds: set[type]) -> str:
    match kinds - {type(None)}:
        case found if not found:
            return "NULL"
        case found if found == {int}:
            return "BIGINT"
        case found if found <= {int, float}:
            return "DOUBLE"
        case found if found == {bytes}:
            return "BLOB"
    return "VARCHAR"


def _array(values: Sequence[Any]) -> pa.Array:
    kind = _type({*map(type, values)})
    if kind == "VARCHAR":
        return pa.array([_text(value) for value in values], type=pa.string())
    return pa.array(values, type=_ARROW[kind])


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bytes():
            return value.hex()
    return repr(value)


def _cast(array: pa.Array, to: pa.DataType) -> pa.Array:
    if array.type == to:
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), to)
    if array.type == pa.binary():
        return pa.array([_text(value) for value in array.to_pylist()], type=to)
    if to == pa.string():
        return pa.array([_text(value) for value in array.to_pylist()], type=to)
    return array.cast(to, safe=False)


def plain(answer: duckdb.DuckDBPyRelation) -> pa.Table:
    """An answer with the types of SQLite: whole numbers, numbers, text and bytes."""
    found = answer.to_arrow_table()
    columns = [_plain(column) for column in found.columns]
    return pa.table(columns, names=_unique(found.column_names))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.int64()):
        return column.cast(pa.int64())
    if pa.types.is_decimal(kind):
        return column.cast(pa.int64() if kind.scale == 0 else pa.float64())
    if pa.types.is_floating(kind) and kind != pa.float64():
        return column.cast(pa.float64())
    known = kind in (pa.int64(), pa.float64(), pa.string(), pa.binary())
    return column if known else column.cast(pa.string())


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found
