"""What a file tells of its past: the rows of the views for people, the packets, and what turns saw."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import engine

VIEWS = (
    "audit_entries",
    "_command_bodies",
    "command_results",
    "context_at",
    "known_entries",
    "loop_list",
    "loop_results",
    "model_choices",
    "_next_steps",
    "open_proposals",
    "packet_texts",
    "past_turns",
    "project_files",
    "_run_lines",
    "run_log",
    "run_overview",
    "run_progress",
    "run_state",
    "turn_timeline",
)
"""The views that people and programs read; `context_changes` is read for pairs of turns."""

TABLES = {
    "settings where name in ('process_timeout', 'max_loop_turns')": "name, value",
    "models where origin <> 'built-in'": "alias, actual, context_length, max_output, profile, tool_calling, origin",
    "projects": "name, root",
    "file_constraints": "pattern, rule",
    "app_notes": "id, run, text, made",
    "app_runs": "run, notes",
}
"""Rows that are a person's or an app's."""

LONG = 120
"""Texts of more characters are recorded once, under their hash."""

Rows = dict[str, list[Any]]


def columns_of(db: engine.Database) -> dict[str, str]:
    """What is recorded of each view and table, as the columns of a select."""
    found = {view: [row["name"] for row in db.rows(f"select name from pragma_table_info('{view}')")] for view in VIEWS}
    return {name: ", ".join(f'"{column}"' for column in columns) for name, columns in found.items()} | TABLES


def rows_of(db: engine.Database, name: str, columns: str, texts: dict[str, str]) -> list[str]:
    """The rows of a view or table, sorted, each as one text; long values go into `texts`."""
    return _shown(db.connection.execute(f"select {columns} from {name}").fetchall(), texts)


def changes_of(db: engine.Database, texts: dict[str, str]) -> dict[str, list[str]]:
    """What `context_changes` tells of each pair of neighbouring turns of a run, and from its last turn to its first."""
    found: dict[str, list[str]] = {}
    for run in [row["run"] for row in db.rows("select run from run_overview order by run")]:
        query = "select turn from past_turns where run = ? and seen_at is not null order by turn"
        turns = [row["turn"] for row in db.rows(query, (run,))]
        for pair in [*pairwise(turns), *zip(turns[-1:], turns[:1], strict=True)]:
            query = (
                "select path, change, visibility_before, visibility, body_before, body, state_before, state, attributes "
                "from context_changes where run = ? and from_turn = ? and to_turn = ?"
            )
            found[f"{run} {pair[0]} {pair[1]}"] = _shown(db.connection.execute(query, (run, *pair)).fetchall(), texts)
    return found


def _shown(rows: list[Any], texts: dict[str, str]) -> list[str]:
    return sorted("  ".join(_value(value, texts) for value in row) for row in rows)


def _value(value: Any, texts: dict[str, str]) -> str:
    if not isinstance(value, str) or len(value) <= LONG:
        return repr(value)
    digest = f"text:{hashlib.sha256(value.encode()).hexdigest()[:16]}"
    texts[digest] = value
    return digest
