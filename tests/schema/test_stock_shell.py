"""A file that real runs have written, read with the stock `sqlite3` shell: every view for people has its columns and rows.

spec: @people_views @file_format
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from people import NOTES, PEOPLES_VIEWS, file_of_real_runs

from tests import spec_tables

pytestmark = pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 shell here")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of_real_runs(tmp_path_factory.mktemp("shell"))


def shell(path: Path, query: str) -> list[dict[str, Any]]:
    """The rows of a query, answered by the shell."""
    done = subprocess.run(["sqlite3", "-readonly", "-json", path, query], capture_output=True, text=True, check=False)
    assert done.stderr == "", f"{query}: {done.stderr}"
    rows: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return rows


@pytest.mark.parametrize("view", PEOPLES_VIEWS)
def test_a_view_for_people_has_its_columns_and_rows(path: Path, view: str) -> None:
    columns = PEOPLES_VIEWS[view].split()
    rows = shell(path, f"select {', '.join(columns)} from {view}")
    assert rows
    assert list(rows[0]) == columns
    for column in columns:
        if column not in {"outcome", "request_id", "reason", "path"}:
            assert any(row[column] is not None for row in rows), column


def test_the_figures_of_a_run_are_those_of_its_turns(path: Path) -> None:
    (run,) = shell(path, "select status, turns, answer, cost, parent from run_overview where run = 'demo'")
    assert run == {"status": 200, "turns": 4, "answer": "Done.", "cost": pytest.approx(0.004), "parent": None}
    turns = shell(
        path, "select turn, status, commands, context_tokens, prompt_tokens from turn_timeline where run = 'demo'"
    )
    assert [(turn["turn"], turn["status"], turn["commands"]) for turn in turns] == [
        (1, 102, 3), (2, 102, 3), (3, 102, 2), (4, 200, 1)
    ]  # fmt: skip
    assert all(turn["context_tokens"] > 0 and turn["prompt_tokens"] == 900 for turn in turns)
    (state,) = shell(
        path, "select turn, status, answer, history, unknowns, telemetry from run_state where run = 'demo'"
    )
    assert (state["turn"], state["status"], state["answer"]) == (4, 200, "Done.")
    assert [u["path"] for u in json.loads(state["unknowns"])] == ["unknown://owner"]
    figures = json.loads(state["telemetry"])
    assert (figures["prompt_tokens"], figures["completion_tokens"], figures["turns"]) == (3600, 80, 4)
    assert figures["context_tokens"] == turns[-1]["context_tokens"]


def test_what_a_turn_saw_is_what_its_packet_shows(path: Path) -> None:
    seen = shell(path, "select turn, path, body from context_at where run = 'demo' order by turn, path")
    bodies = {(row["turn"], row["path"]): row["body"] for row in seen}
    assert (1, "notes.md") not in bodies
    assert (bodies[2, "notes.md"], bodies[4, "notes.md"]) == (NOTES, NOTES + "More.\n")
    packets = shell(path, "select turn, body from packet_texts where run = 'demo' and role = 'user'")
    sent = {packet["turn"]: packet["body"] for packet in packets}
    assert [("More." in sent[turn], "known://port" in sent[turn]) for turn in (2, 3, 4)] == [
        (False, False), (False, True), (True, True)
    ]  # fmt: skip


def test_what_waits_is_shown_with_what_it_would_do(path: Path) -> None:
    (waiting,) = shell(path, "select run, turn, action, target, detail from open_proposals")
    assert waiting == {
        "run": "waits", "turn": 2, "action": "sh", "target": "echo built; echo careful >&2",
        "detail": "echo built; echo careful >&2",
    }  # fmt: skip
    assert shell(path, "select status from run_overview where run = 'waits'") == [{"status": 202}]


def test_looking_leaves_the_file_sound(path: Path) -> None:
    audit(path)


def test_all_that_has_no_underscore_answers_without_our_functions(path: Path) -> None:
    names = [
        row["name"]
        for row in shell(
            path,
            "select name from sqlite_schema as s where type in ('table', 'view') and name not glob '_*' "
            "and name not glob 'sqlite_*' and not exists (select 1 from sqlite_schema as t "
            "where t.type = 'trigger' and t.tbl_name = s.name and s.type = 'view')",
        )
    ]
    assert len(names) > 50
    # bytes are written as hex, so that they are text; one that fails is told by its line, and the others are asked
    script = "".join(f"select * from {name} limit 1;\n" for name in names)
    done = subprocess.run(["sqlite3", "-readonly", "-quote", path], input=script.encode(), capture_output=True)
    assert done.stderr == b"", script


def test_the_layers_of_a_turn_are_read_from_its_packet(path: Path) -> None:
    """SQLite 3.40 began with all chunks of the file, and looked for the packets of each."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        plan = [row[3] for row in connection.execute("explain query plan select * from prompt_layers")]
    assert "SCAN k" not in plan, plan


def test_spec_names_each_kind_of_event(path: Path) -> None:
    kinds = {row["kind"] for row in shell(path, "select distinct kind from events")}
    assert {kind for kind in kinds if f"`{kind}`" not in spec_tables.events()} == set()
