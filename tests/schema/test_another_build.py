"""Files that another build of the same tables wrote: each is rebuilt, tells what it told before, and its runs go on.

tests/every_run.py makes the file; here another build is this one with other rules. 1. What people's views, packets and the
past of every run say stays, after a migration of the tables too. 2. The schema is that of a fresh file, what an app made
stays. 3. What waited is decided, what was cut off goes on, turns of the past are forked from.

spec: @opening @rebuild @context_at @time_travel @packets @people_views
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from audit import audit
from every_run import every_run
from next_version import first_build, migrate, next_build
from recording import changes_of, columns_of, rows_of

import engine
from engine.schema.objects import normalized, objects_of

ANOTHER_BUILD = """
    drop view run_log;
    create view run_log as select 'another build' as said;
    create view gone_since as select 1 as one;
    insert into engine_objects (type, name) values ('view', 'gone_since');
    drop trigger loops__guard_transition;
    update engine_meta set value = 'another build' where key = 'sources'
"""
"""Rules that another build may have: a view with other columns, one that is gone since, a guard that it lacks."""


@cache
def told() -> tuple[dict[str, tuple[str, list[str]]], dict[str, list[str]]]:
    """What the file tells as it was made: the columns and rows of each view, and the changes of each pair of turns."""
    with TemporaryDirectory() as folder, engine.open(every_run().put(Path(folder)), read_only=True) as db:
        columns = columns_of(db)
        return {name: (found, rows_of(db, name, found, {})) for name, found in columns.items()}, changes_of(db, {})


def by_another_build(folder: Path) -> Path:
    """The file as another build left it."""
    path = every_run().put(folder)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(ANOTHER_BUILD)
    return path


@pytest.fixture(scope="module", params=["rebuilt", "migrated"])
def after(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[engine.Database]:
    """The file after this build has rebuilt it, or after one with other tables has migrated it; for tests that only look."""
    folder = tmp_path_factory.mktemp("another")
    path = by_another_build(folder)
    if request.param == "migrated":
        migrate(path, first_build())
        migrate(path, next_build())
    else:
        engine.open(path).close()
    with engine.open(path, read_only=True) as db:
        yield db


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[engine.Database]:
    """The rebuilt file in a folder in which its runs can go on; audited at the end."""
    monkeypatch.chdir(tmp_path)
    path = by_another_build(tmp_path)
    with engine.open(path) as db:
        db.execute("update projects set root = ? where root = 'project'", (str(tmp_path / "project"),))
        yield db
    audit(path)


# -- 1. what it tells


def test_views_and_tables_say_what_they_said(after: engine.Database) -> None:
    rows, _ = told()
    assert len(rows) > 20
    for name, (columns, before) in rows.items():
        assert before, name
        assert rows_of(after, name, columns, {}) == before, name


def test_packets_are_what_was_sent(after: engine.Database) -> None:
    packets = after.rows("select run, turn, role, sha256, body from packet_texts")
    assert len(packets) > 100
    for packet in packets:
        where = f"{packet['run']} {packet['turn']} {packet['role']}"
        assert hashlib.sha256(packet["body"].encode()).hexdigest() == packet["sha256"], where


def test_turns_differ_as_they_did(after: engine.Database) -> None:
    _, changes = told()
    assert any(changes.values())
    assert changes_of(after, {}) == changes


# -- 2. the schema


def test_the_schema_is_that_of_a_fresh_file(old: engine.Database, tmp_path: Path) -> None:
    old.execute("drop view app_runs")
    old.execute("drop table app_notes")
    with engine.open(tmp_path / "fresh.db") as fresh:
        fresh.install(*(row["name"] for row in old.rows("select name from engine_modules")))
        assert schema_of(old) == schema_of(fresh)


def schema_of(db: engine.Database) -> set[tuple[str, str, str]]:
    """Kind, name and normalized SQL of each object of a file; `alter table` changes comments and white space."""
    return {(each.type, each.name, normalized(each.sql)) for each in objects_of(db.connection)}


def test_what_an_app_made_works_on(old: engine.Database) -> None:
    old.insert("app_notes", run="demo", text="new")
    assert old.row(
        "select made, (select notes from app_runs where run = 'demo') as notes from app_notes where id = 3"
    ) == {
        "made": "app",
        "notes": 2,
    }


# -- 3. going on


def on_disk(name: str) -> str:
    """A file of the project, in the folder that a test works in."""
    return Path("project", name).read_text("utf-8")


def test_what_waited_is_accepted_and_done(old: engine.Database) -> None:
    for run, body in (
        ("waits_write", None),
        ("waits_process", None),
        ("waits_question", "2026"),
        ("waits_patch", None),
    ):
        old.resolve(run, accept=True, body=body)
        assert old.resume(run).status == 200, run
        if run == "waits_write":
            assert on_disk("data.csv") == "year,total\n2026,4300\n"
            Path("project", "data.csv").write_bytes(every_run().files["project/data.csv"])
    assert on_disk("data.csv") == "year,total\n2025,4250\n"
    assert (on_disk("docs/more.md"), on_disk("made.txt")) == ("# More\n", "made\n")
    assert old.value("select body from known_entries where run = 'waits_process' and path = 'known://after'") == "later"
    answered = "select body from known_entries where run = 'waits_question' and path like 'log://%/ask_user/%'"
    assert "2026" in old.value(answered)
    assert old.value("select count(*) from open_proposals") == 0


def test_queued_prompts_run_in_their_order(old: engine.Database) -> None:
    old.resolve("waits_write", accept=True)
    old.resume("waits_write")
    old.resume("aborted")
    found = old.rows(
        "select run, prompt, status from loop_list where run in ('waits_write', 'aborted') order by run, loop"
    )
    assert [(row["run"], row["status"]) for row in found] == [
        ("aborted", 499), ("aborted", 200), ("aborted", 200), *[("waits_write", 200)] * 3,
    ]  # fmt: skip


def test_what_was_decided_or_cut_off_goes_on(old: engine.Database) -> None:
    statuses = {run: old.resume(run).status for run in ("decided", "interrupted", "cut", "answered", "idle")}
    assert set(statuses.values()) == {200}, statuses
    assert on_disk("docs/decided.md") == "# Decided\n"
    assert old.value("select body from known_entries where run = 'answered' and path = 'known://paid'") == "kept"
    assert old.value("select outcome from run_log where run = 'interrupted' and action = 'sh'") == "interrupted"
    assert old.value("select body from known_entries where run = 'interrupted' and path like 'sh://%1'") == "half a li"


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A scripted model that says the same at whatever position a run has come to."""
    answer = '<get path="known://**"/><set path="known://new">new</set><update status="200">Done.</update>'
    (tmp_path / "more.jsonl").write_text(f"{json.dumps(answer)}\n" * 40, encoding="utf-8")
    return "scripted:more.jsonl"


OVER = ("demo", "history", "now", "past", "deep", "asleep", "condensed", "tight", "native")
PAST = (("demo", 3), ("history", 6), ("past", 2), ("now", 11), ("deep", 4))


def test_runs_that_are_over_take_a_new_prompt(old: engine.Database, model: str) -> None:
    for run in OVER:
        assert old.run("Once more.", run=run, model=model, context_limit=100_000).status == 200, run
        new = old.value("select body from known_entries where run = ? and path = 'known://new'", (run,))
        assert new == "new", run


def test_turns_of_the_past_are_forked_from(old: engine.Database, model: str) -> None:
    # entries of shared scope follow their head, and the prompt is another one
    seen = (
        "select path, visibility, body from context_at where run = ? and turn = ? and path like '%://%' "
        "and path not like 'skill://%' and path <> 'prompt://' || turn order by path"
    )
    for run, turn in PAST:
        before = old.rows(seen, (run, turn))
        child = old.fork(run, at=turn)
        assert old.run("Take another way.", run=child, model=model).status == 200, run
        assert before, run
        assert old.rows(seen, (child, turn)) == before, run
        assert old.rows(seen, (run, turn)) == before, run


def test_a_run_is_purged(old: engine.Database) -> None:
    old.purge("strikes")
    assert old.value("select count(*) from run_overview where run = 'strikes'") == 0
    assert old.value("select count(*) from run_overview") == len(told()[0]["run_overview"][1]) - 1
