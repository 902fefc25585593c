"""Why something in a run is as it is, with the rows that say so.

spec: @inspector_pages
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from engine.errors import NotFound

from .asked import run_of, text, whole

if TYPE_CHECKING:
    from engine.api.database import Database


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The answer to the question about `name`, by what it is about."""
    run = run_of(db, asked)
    name, at = text(asked, "name"), whole(asked, "at", 0) or None
    try:
        found = db.why(run["run"], name, at=at)
    except NotFound as error:
        return {"run": run, "name": name or "", "at": at, "groups": [], "problem": error.message}
    groups = [(about, list(rows)) for about, rows in groupby(found.rows, key=lambda reason: reason.about)]
    return {"run": run, "name": name or "", "at": at, "groups": groups, "problem": None}
