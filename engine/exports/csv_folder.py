"""Views as CSV files in a folder, with their types and descriptions as W3C's "CSV on the Web" tells them.

spec: @export
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tables import Exported, rows, table

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.db.view_list import View

METADATA = "csv-metadata.json"
_TYPES: dict[str, Any] = {
    "integer": "integer",
    "number": "double",
    "text": "string",
    "time": {"base": "datetime", "format": "yyyy-MM-dd HH:mm:ss"},
    "day": "date",
    "bytes": "hexBinary",
}


def write(db: Store, views: list[View], folder: Path) -> dict[str, int]:
    """Write a file for each view into an empty folder; returns the number of rows of each."""
    counts = {}
    told = []
    for view in views:
        of = table(db, view)
        with (folder / f"{of.name}.csv").open("w", encoding="utf-8", newline="") as file:
            file.write(",".join(_cell(column.name) for column in of.columns) + "\n")
            counts[of.name] = 0
            for row in rows(db, of):
                file.write(",".join(map(_cell, row)) + "\n")
                counts[of.name] += 1
        told.append(_told(of))
    metadata = {"@context": "http://www.w3.org/ns/csvw", "tables": told}
    (folder / METADATA).write_text(json.dumps(metadata, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return counts


def _cell(value: Any) -> str:
    """A value; texts stand in quotes, so that an empty one is not NULL, which is nothing at all."""
    match value:
        case None:
            return ""
        case int() | float():
            return repr(value)
        case bytes():
            return value.hex()
    return '"' + str(value).replace('"', '""') + '"'


def _told(of: Exported) -> dict[str, Any]:
    columns = [
        {"name": each.name, "datatype": _TYPES[each.type]}
        | ({"dc:description": each.description} if each.description else {})
        for each in of.columns
    ]
    return {"url": f"{of.name}.csv", "dc:description": of.description, "tableSchema": {"columns": columns}}
