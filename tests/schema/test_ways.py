"""The SQL reads like a page: doors call each other by name, bodies are short, programs are small.

1. The three ways that CONTRIBUTING tells are those of the stored schema. 2. A file is written within few bodies and files.
3. No body is long. 4. The hot statements compile to programs of a bounded size. 5. Indexes that views name are used.
6. What is costly is made once.

spec: @dispatch_path @dispatch
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from driving import begin, script, turn
from opcodes import HOT, opcodes

import engine
from engine.functions.edits.bodies import edit_apply
from engine.schema.build import installed
from engine.schema.registration import register

CONTRIBUTING = (Path(__file__).parent.parent.parent / "CONTRIBUTING.md").read_text("utf-8")
WAYS = re.findall(r"^\| `(\w+)` \| (`[^|]+`) \| `(\w+\.sql)` \| [^|]+ \|$", CONTRIBUTING, re.MULTILINE)
TRIGGER = re.compile(r"create trigger (\w+)\s+(.*?)\bbegin\b(.*?)\nend;", re.DOTALL)
MOST_STATEMENTS = 12
MOST_BODIES = 12
PASS_ON = {"_call_door__call_dispatch", "_late_call__call"}
"""What makes the statement of the driver one with that of a prompt, and what calls by a name: nothing of their own."""
MOST_FILES = 6
MOST_OPCODES = 6_000
MOST_OPCODES_OF = {"dispatch": 8_750, "call a door as the driver": 10_700}


def triggers() -> list[tuple[str, str, str, str]]:
    """File, name, head and body of each trigger of the engine."""
    return [(file, *found) for file, text in installed().all_sources for found in TRIGGER.findall(text)]


@pytest.fixture
def schema() -> Any:
    with closing(apsw.Connection(":memory:")) as connection:
        installed().fresh.copy_to(connection)
        register(connection)
        yield connection


def test_there_are_three_ways() -> None:
    assert len(WAYS) >= 20
    assert CONTRIBUTING.count("**The way of a ") == 3


@pytest.mark.parametrize(("door", "calls", "file"), WAYS)
def test_a_way_is_that_of_the_stored_schema(door: str, calls: str, file: str, db: engine.Database) -> None:
    names = {name for place, name, head, _ in triggers() if place == file and re.search(rf"\bon {door}\b", head)}
    bodies = [
        row["sql"]
        for row in db.rows("select name, sql from sqlite_schema where type = 'trigger' and tbl_name = ?", (door,))
        if row["name"] in names
    ]
    for called in re.findall(r"`(\w+)`", calls):
        # by its name, where it is compiled late
        assert any(re.search(rf"insert into {called}\b|'{called}'", body) for body in bodies), f"{door} calls {called}"


def test_a_file_is_written_within_few_bodies_and_files(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("old\n", encoding="utf-8")
    model = script(tmp_path, '<get path="a.py"/>', '<set path="a.py">new\n</set><update status="200">done</update>')
    bodies = {name: " ".join(body.split()) for _, name, _, body in triggers()}
    passed: dict[str, None] = {}
    listening = False

    def hear(event: dict[str, Any]) -> None:
        nonlocal listening
        sql = " ".join(event["sql"].removeprefix("-- ").split())
        if not event["trigger"]:
            # from the response that holds the set until the driver begins to write
            began = sql.startswith("update turns set response") and asked() == 1
            listening = (listening or began) and "_start_effect" not in sql
        elif listening and not sql.startswith("TRIGGER"):
            found = [name for name, body in bodies.items() if sql in body]
            passed.update(dict.fromkeys(found if len(found) == 1 else []))  # a statement may stand in two bodies

    with engine.open(tmp_path / "t.db") as db:

        def asked() -> int:
            return len(db.connection.execute("select 1 from turns where response is not null").fetchall())

        db.connection.trace_v2(apsw.SQLITE_TRACE_STMT, hear)
        assert db.run("Write", model=model, root=tmp_path / "root", yolo=True).status == 200
        db.connection.trace_v2(0, None)
    assert (tmp_path / "root" / "a.py").read_text("utf-8") == "new\n"
    files = {file for file, name, _, _ in triggers() if name in passed.keys() - PASS_ON}
    assert {"_dispatch__dispatch", "_perform_command__perform", "_open_proposal__open"} <= set(passed)
    assert len(passed.keys() - PASS_ON) <= MOST_BODIES, " ".join(passed)
    assert len(files) <= MOST_FILES, files


@pytest.mark.parametrize(("file", "name", "body"), [(file, name, body) for file, name, _, body in triggers()])
def test_no_body_is_long(file: str, name: str, body: str) -> None:
    statements, rest = 0, ""
    for line in body.splitlines():
        rest += line + "\n"
        if sqlite3.complete_statement(rest):
            statements, rest = statements + 1, ""
    assert 0 < statements <= MOST_STATEMENTS, f"{name} in {file}"


@pytest.mark.parametrize("name", HOT)
def test_hot_statements_compile_to_small_programs(name: str, schema: apsw.Connection) -> None:
    assert opcodes(schema, HOT[name]) <= MOST_OPCODES_OF.get(name, MOST_OPCODES)


INDEXED = [
    (view, index)
    for _, text in installed().all_sources
    for view, select in re.findall(r"create view (\w+) as(.*?);\n", text, re.DOTALL)
    for index in re.findall(r"indexed by (\w+)", select)
]


@pytest.mark.parametrize(("view", "index"), sorted(set(INDEXED)))
def test_an_index_that_a_view_names_is_used(view: str, index: str, schema: apsw.Connection) -> None:
    column = next(
        (name for name in ("turn_id", "run_id", "loop_id", "project_id") if name in columns_of(schema, view)),
        None,
    )
    plan = schema.execute(f"explain query plan select * from {view} where {column} = 1").fetchall()
    assert index in json.dumps(plan), plan


def columns_of(connection: apsw.Connection, view: str) -> list[str]:
    return [row[1] for row in connection.execute(f"pragma table_info({view})")]


def test_an_edit_of_many_entries_is_made_once_for_each(db: engine.Database) -> None:
    edits: list[str | None] = []

    def counted(text: str | None, body: str | None) -> str | None:
        edits.append(text)
        return edit_apply(text, body)

    begin(db, "demo")
    for name in "abc":
        db.insert("verb_set", run="demo", path=f"known://{name}", body=f"{name} is old")
    db.connection.create_scalar_function("edit_apply", counted, 2, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)
    turn(db, "demo", '<set path="known://*"><<SEARCH\nold\nSEARCH\n<<REPLACE\nnew\nREPLACE</set>')
    assert [row["body"] for row in db.rows("select body from known_entries where scheme = 'known' order by path")] == [
        f"{name} is new" for name in "abc"
    ]
    assert sorted(map(str, edits)) == [f"{name} is old" for name in "abc"]


@pytest.mark.parametrize(
    ("query", "used", "never"),
    [
        # the cost of a run that is watched: over an index, so that no response is read
        (
            "select cost from run_progress where run = 'demo' and event_id > 9",
            "USING COVERING INDEX idx_turns_costs",
            "",
        ),
        (
            "select * from run_progress where run = 'demo' and event_id > 9",
            "SEARCH ev USING INTEGER PRIMARY KEY",
            "SCAN ev",
        ),
        ("select run, cost from run_overview", "USING COVERING INDEX idx_turns_costs", ""),
        ("select * from cost_by_day", "USING INDEX idx_model_calls_turn_id", "SCAN c"),
        ("select * from packet_texts", "SEARCH ev USING INTEGER PRIMARY KEY", "SCAN ev"),
        ("select * from said where run = 'demo'", "SEARCH ev USING INTEGER PRIMARY KEY", "SCAN ev"),
        ("select * from file_changes", "SEARCH b USING INTEGER PRIMARY KEY", "SCAN b"),
        ("select * from next_demotions where run = 'demo'", "USING INDEX idx_run_views_in_context", "SCAN v"),
        # a proposal is decided on without a look at those that are settled
        ("select * from _immediate_decisions where proposal_id = 9", "SCAN p USING INDEX idx_proposals_open", "SCAN p"),
    ],
)
def test_what_people_ask_of_a_long_run_uses_indexes(query: str, used: str, never: str, schema: apsw.Connection) -> None:
    plan = [row[3] for row in schema.execute(f"explain query plan {query}")]
    assert any(used in step for step in plan), plan
    assert not never or never not in plan, plan
