"""Whether the record of a run, or of all runs, is as it was sealed.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import Conflict

from .asked import run_of, text

if TYPE_CHECKING:
    from engine.api.database import Database


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The runs that were checked, with the seal of the last turn of each, and all faults."""
    run = run_of(db, asked) if text(asked, "run") else None
    try:
        found = db.verify(None if run is None else run["run"])
    except Conflict as error:
        return {"run": run, "runs": [], "faults": [], "problem": error.message}
    return {"run": run, "runs": found.runs[:500], "faults": found.faults[:500], "problem": None}
