"""Every public door tells of a row that names nothing, and no message is lost to a null.

spec: @surfaces
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import engine
from engine.errors import EngineError
from engine.schema.build import installed

SQL = "\n".join(text for _, text in installed().all_sources)
# a door that says in its create what it promises
PROMISED = {*re.findall(r"^create view (\w+) as\n--", SQL, re.MULTILINE)}
DOORS = sorted(PROMISED & {*re.findall(r"^instead of insert on (\w+)$", SQL, re.MULTILINE)})
TABLES = sorted(set(re.findall(r"^create table if not exists (\w+)", SQL, re.MULTILINE)))
TAKES_ALL = {
    "_apply_retention": "is about all runs that rest",
    "_release_claims": "a client that is gone may have claimed nothing",
    "_release_lease": "who gives a lease back may have lost it",
    "_store_content": "a text has no name",
    "_sweep": "is about the whole file",
}
"""Doors that no row can name nothing in, and why."""
WITHOUT_NAMES = {"verb_forget_answers": "without a run it forgets the answers of all"}
NAMES = {"name", "node", "path", "run", "step"}
VALUES = {
    "attributes": "{}",
    "channel": 1,
    "chars": 3,
    "created_at": 1,
    "decision": "accept",
    "detail": "{}",
    "files": "{}",
    "kind": "text",
    "layer": "file",
    "listing": "{}",
    "mtime_ns": 1,
    "prompt": " ",
    "rules": "[]",
    "size": 1,
    "state": "resolved",
    "status": 500,
    "syntax": "yaml",
    "text": "text",
    "token": "token",
    "tools": "[]",
}
"""What a row says in the columns that name nothing."""


def unknown(column: str, kind: str = "") -> Any:
    """A value that names nothing, where the column names something; else one that can be, null where none is known."""
    if column == "scope":
        return "project:99"
    if column in NAMES:
        return "unknown"
    if column.endswith("_id") and column not in {"request_id", "content_id"}:
        return 99
    return VALUES.get(column, {"TEXT": "text", "INTEGER": 1, "REAL": 1.0}.get(kind))


def unknowns(db: engine.Database, place: str) -> dict[str, Any]:
    """A row of a table or door that names nothing."""
    found = db.rows("select name, type from pragma_table_info(?)", (place,))
    return {row["name"]: unknown(row["name"], row["type"]) for row in found}


def refusal(db: engine.Database, place: str, row: dict[str, Any]) -> EngineError:
    """The error that a row of a table or door raises."""
    names = ", ".join(f'"{name}"' for name in row)
    with pytest.raises(EngineError) as raised:
        db.execute(f"insert into {place} ({names}) values ({', '.join('?' * len(row))})", tuple(row.values()))
    return raised.value


def assert_worded(error: EngineError) -> None:
    assert 400 <= error.status < 500
    assert re.match(r"[a-z].{20}", error.message), error
    assert not re.search(r"constraint failed|malformed|cannot store", error.message), error


def test_there_are_many_doors() -> None:
    assert len(DOORS) > 60


@pytest.mark.parametrize("door", [door for door in DOORS if door not in TAKES_ALL])
def test_a_row_of_unknown_names_is_told(db: engine.Database, door: str) -> None:
    assert_worded(refusal(db, door, {**unknowns(db, door)}))


@pytest.mark.parametrize("door", [door for door in DOORS if door not in {**TAKES_ALL, **WITHOUT_NAMES}])
def test_a_row_without_names_is_told(db: engine.Database, door: str) -> None:
    assert_worded(refusal(db, door, dict.fromkeys(unknowns(db, door))))


@pytest.mark.parametrize("table", ["resolutions", "effect_results", "loops", "vetoes", "workflow_needs"])
def test_no_message_is_lost_to_a_null(db: engine.Database, table: str) -> None:
    assert table in TABLES
    db.insert("verb_set", path="run://demo", body="go", attributes='{"model": "m"}')
    row = {name: value for name, value in unknowns(db, table).items() if name != "id"}
    for each in (row, dict.fromkeys(row), *({**row, name: None} for name in row)):
        assert not re.search(r"^$|None", refusal(db, table, each).message), each
