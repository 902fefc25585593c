"""One read-only SQL statement, within limits, and the views that there are.

spec: @inspector_pages
"""

from __future__ import annotations

import csv
import io
import json
import time
from typing import TYPE_CHECKING, Any

from engine.db.query import answer
from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.api.database import Database

ROWS = 500
SECONDS = 5.0
CELL = 2_000
_VIEWS = """
    select v.name, (select group_concat(c.name, ', ') from pragma_table_info(v.name) as c) as columns
    from sqlite_master as v
    where v.type = 'view' and v.name not glob '_*' and v.name not glob 'verb_*'
    order by v.name
"""
FIRST = "select run, status, turns, cost, title\nfrom run_overview\norder by updated_at desc\nlimit 20"


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The rows of the statement, or why there are none."""
    statement = asked.get("q", "")
    found, problem, began = None, None, time.monotonic()
    if statement.strip():
        try:
            found = answer(db, statement, limit=ROWS, seconds=SECONDS)
        except EngineError as error:
            problem = error.message
    rows = [] if found is None else [[_cell(value) for value in row] for row in found.rows]
    return {
        "statement": statement or FIRST,
        "columns": None if found is None else found.columns,
        "rows": rows,
        "cut": found is not None and found.cut,
        "problem": problem,
        "seconds": time.monotonic() - began,
        "views": db.rows(_VIEWS),
        "most": ROWS,
        "limit": SECONDS,
    }


def download(db: Database, statement: str, form: str) -> tuple[str, str]:
    """The rows of the statement as a text and its media type: `form` is csv or json. Raises what `answer` raises."""
    found = answer(db, statement, limit=ROWS, seconds=SECONDS)
    if form == "json":
        return json.dumps(found.dicts(), ensure_ascii=False, indent=1, default=_told), "application/json"
    told = io.StringIO()
    writer = csv.writer(told)
    writer.writerow(found.columns)
    writer.writerows([_safe(value) for value in row] for row in found.rows)
    return told.getvalue(), "text/csv; charset=utf-8"


def _safe(value: object) -> object:
    """A spreadsheet takes a text for a formula if it begins like one; an apostrophe makes it a text again."""
    if isinstance(value, bytes):
        return _told(value)
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _told(value: object) -> str:
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)


def _cell(value: object) -> str | None:
    if value is None:
        return None
    text = _told(value)
    return text if len(text) <= CELL else f"{text[:CELL]}… ({len(text):,} characters)"
