"""Writes views to a place that does not exist yet: all of them, or nothing.

spec: @export
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.db.one_state import one_state
from engine.errors import Conflict, NotFound

from . import csv_folder, datasette, duck
from .making import making, remove_left
from .tables import chosen

if TYPE_CHECKING:
    from engine.db.database import Store

FORMS = ("parquet", "csv", "duckdb", "datasette")
_FILES = {"duckdb": duck.write_database, "datasette": datasette.write}


def export_views(db: Store, form: str, target: Path, names: Sequence[str] | None = None) -> dict[str, int]:
    """Write views as `form` (one of `FORMS`) to `target`, a file or a folder. Returns the number of rows of each.

    The form datasette is what Datasette is told of the file; it has no rows.

    `names` are views; None is all of the engine's for people, but those with a row for each entry of each turn. They are all
    of one state of the file. Raises `Conflict` (409) where `target` exists, `NotFound` (404) where it cannot be written and
    for an unknown view, and `EngineError` (500) where DuckDB is needed and not installed.
    """
    views = chosen(db, names)
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target}: already exists; choose a new {'file' if form in _FILES else 'folder'}")
    try:
        remove_left(target.parent)
        with making(target.parent) as made_in:
            made = made_in / "made"
            with one_state(db):
                if form in _FILES:
                    counts = _FILES[form](db, views, made)
                else:
                    made.mkdir()
                    counts = (csv_folder.write if form == "csv" else duck.write_parquet)(db, views, made)
            made.rename(target)
    except OSError as error:
        raise NotFound(f"{target}: cannot be written: {error.strerror}") from None
    return counts
