"""Views as a DuckDB file or as Parquet files, both written by DuckDB of the extra `export`, with types and descriptions.

DuckDB gets rows as lines of JSON: row by row from Python they take fifty times as long. It loads no extension.

spec: @export
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError

from .tables import Exported, rows, table

if TYPE_CHECKING:
    import duckdb

    from engine.db.database import Store
    from engine.db.view_list import View

_TYPES = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "time": "TIMESTAMP",
    "day": "DATE",
    "bytes": "VARCHAR",
}
_LEAST_BYTES = 1 << 20


def write_database(db: Store, views: list[View], target: Path) -> dict[str, int]:
    """Write a DuckDB file with a table for each view; returns the number of rows of each.

    Raises `EngineError` (500) where DuckDB is not installed.
    """
    with _connected(str(target)) as connection:
        return {view.name: _take(db, connection, view, target.parent)[1] for view in views}


def write_parquet(db: Store, views: list[View], folder: Path) -> dict[str, int]:
    """Write a Parquet file for each view into an empty folder; returns the number of rows of each.

    The key-value metadata of a file has `description`, and `columns`: a JSON object of the descriptions of its columns.
    Raises `EngineError` (500) where DuckDB is not installed.
    """
    counts = {}
    with _connected(":memory:") as connection:
        for view in views:
            of, counts[view.name] = _take(db, connection, view, folder)
            about = json.dumps(
                {each.name: each.description for each in of.columns if each.description}, ensure_ascii=False
            )
            metadata = f"{{description: {_text(of.description)}, columns: {_text(about)}}}"
            connection.execute(
                f"copy {_name(of.name)} to {_text(str(folder / f'{of.name}.parquet'))} "
                f"(format parquet, compression zstd, kv_metadata {metadata})"
            )
            connection.execute(f"drop table {_name(of.name)}")
    return counts


def _connected(path: str) -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise EngineError(
            "DuckDB is not installed; to install it: pip install 'engine[export]'; or use --csv"
        ) from None
    return duckdb.connect(path, config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})


def _take(db: Store, connection: duckdb.DuckDBPyConnection, view: View, folder: Path) -> tuple[Exported, int]:
    """Make a table of a view, with comments; the lines lie in `folder` meanwhile."""
    of = table(db, view)
    names = [column.name for column in of.columns]
    lines = folder / f".{of.name}.jsonl"
    count, longest = 0, _LEAST_BYTES
    try:
        with lines.open("wb") as file:
            for row in rows(db, of):
                line = json.dumps(dict(zip(names, map(_value, row), strict=True)), ensure_ascii=False).encode() + b"\n"
                file.write(line)
                count, longest = count + 1, max(longest, len(line) + 1)
        connection.execute(_made(of, lines, longest))
    finally:
        lines.unlink(missing_ok=True)
    if of.description:
        connection.execute(f"comment on table {_name(of.name)} is {_text(of.description)}")
    for column in of.columns:
        if column.description:
            place = f"{_name(of.name)}.{_name(column.name)}"
            connection.execute(f"comment on column {place} is {_text(column.description)}")
    return of, count


def _made(of: Exported, lines: Path, longest: int) -> str:
    """The statement that makes a table of the lines."""
    given = ", ".join(f"{_text(each.name)}: '{_TYPES[each.type]}'" for each in of.columns)
    taken = ", ".join(
        f"unhex({_name(each.name)}) as {_name(each.name)}" if each.type == "bytes" else _name(each.name)
        for each in of.columns
    )
    return (
        f"create table {_name(of.name)} as select {taken} from read_json({_text(str(lines))}, "  # noqa: S608 - quoted
        f"format = 'newline_delimited', maximum_object_size = {longest}, columns = {{{given}}})"
    )


def _value(value: Any) -> Any:
    """A value as JSON has it: bytes as hexadecimal digits, and what is no number there as a word."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
