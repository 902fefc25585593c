"""Titles and labels of runs, as lists show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Row


def called(row: Row) -> str:
    """The title and the labels of a row of run_overview, in a line."""
    import json

    labels = "".join(f"[{each}] " for each in json.loads(row.get("labels") or "[]"))
    return f"{labels}{row.get('title') or ''}".strip()


def with_labels(row: Row) -> Row:
    """A row of run_overview with its labels as a list, for JSON; `label` is the first, else the name of the run's folder."""
    import json

    labels = json.loads(row.get("labels") or "[]")
    folder = str(row.get("project") or "").rstrip("/").rpartition("/")[2]
    return {**row, "labels": labels, "label": labels[0] if labels else folder or None}
