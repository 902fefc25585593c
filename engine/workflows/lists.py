"""What workflows say, and which there are, as people read it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import ValidationError

from .finding import LATEST, Source, find_all, read

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle


def described(db: Handle, source: Source | int) -> dict[str, Any]:
    """What a workflow that was found says: name, description, model, source, variables and steps. Raises `ValidationError`
    (400) with all that is wrong with its text.
    """
    if isinstance(source, int):
        return _of_rows(db, source)
    read_ = read(db, source)
    if read_["problems"]:
        told = "; ".join(f"line {each['line']}: {each['message']}" for each in read_["problems"])
        raise ValidationError(f"{source.source!r}: {told}")
    return {"source": source.source, **read_["workflow"]}


def listed(db: Handle, root: Path | None) -> list[Row]:
    """The workflows that can be run in `root` by their names; of several with one name the first that would be found.

    Then come those that were run before, from a file that is not found.
    """
    query = f"select * from workflow_list where workflow_id in ({LATEST})"  # noqa: S608 - ours
    kept = db.rows(query, {"root": None if root is None else str(root)})
    rows: dict[str, Row] = {
        row["name"]: {**row, "source": "rows", "problem": None} for row in kept if row["syntax"] == "rows"
    }
    for source in find_all(db, root):
        if source.name not in rows:
            read_ = read(db, source)
            told, problems = read_["workflow"] or {}, read_["problems"]
            rows[source.name] = {
                "name": source.name,
                "description": told.get("description"),
                "steps": len(told.get("steps", ())),
                "source": shown(source.source, root),
                "problem": f"line {problems[0]['line']}: {problems[0]['message']}" if problems else None,
            }
    for row in kept:
        if row["name"] not in rows:
            before = f"run before, from {shown(row['source'] or '?', root)}"
            rows[row["name"]] = {**row, "source": before, "problem": None}
    return [rows[name] for name in sorted(rows)]


def shown(path: str, root: Path | None) -> str:
    """A path below the folder of the project as it is from there."""
    return os.path.relpath(path, root) if root and Path(path).is_relative_to(root) else path


def _of_rows(db: Handle, workflow: int) -> dict[str, Any]:
    top = db.row(
        "select name, description, model, coalesce(source, 'rows') as source from workflows where id = ?", (workflow,)
    )
    assert top is not None, "a workflow that was found is there"
    variables = (
        'select name, description, required, default_value as "default" from workflow_variables '
        "where workflow_id = ? order by position"
    )
    rows = db.rows(
        "select s.*, s.step as id, (select json_group_array(n.needs) from workflow_needs as n "
        "where n.workflow_id = s.workflow_id and n.step = s.step) as needs from workflow_steps as s "
        "where s.workflow_id = ? order by s.layer, s.position",
        (workflow,),
    )
    told = [
        {**row, "needs": json.loads(row["needs"]), "tools": json.loads(row["tools"]) if row["tools"] else None}
        for row in rows
    ]
    return {**top, "variables": db.rows(variables, (workflow,)), "steps": told}
