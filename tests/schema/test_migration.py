"""Files that older builds wrote: each is migrated, tells what it told then, and its runs go on.

tests/fixtures/make_old_file.py made the files. 1. What people's views, packets and the past of every run say. 2. The schema
is that of a fresh file, what an app made stays. 3. What waited is decided, what was cut off goes on, turns of the past are
forked from.

spec: @opening @rebuild @context_at @time_travel @packets @people_views
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from driving import make_known
from recording import changes_of, rows_of

import engine
from engine.schema.objects import normalized, objects_of

FIXTURES = Path(__file__).parent.parent / "fixtures"
VERSIONS = (1, 2, 3, 4)
TOLD: dict[int, dict[str, Any]] = {
    version: json.loads(gzip.decompress((FIXTURES / f"version_{version}.json.gz").read_bytes())) for version in VERSIONS
}
for _told in TOLD.values():
    _told["columns"]["file_constraints"] = "pattern, rule"  # versions 1 and 2 had another name for the rule


def unpack(version: int, folder: Path) -> Path:
    """The file of `version` in `folder`, beside it the project and the scripts as they were when it was made."""
    for name, text in TOLD[version]["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    path = folder / "t.db"
    path.write_bytes(gzip.decompress((FIXTURES / f"version_{version}.db.gz").read_bytes()))
    return make_known(path)


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, engine.Database]]:
    """The files of all versions as this build opens them, for tests that only look."""
    with ExitStack() as stack:
        yield {
            version: stack.enter_context(engine.open(unpack(version, tmp_path_factory.mktemp("old"))))
            for version in VERSIONS
        }


def test_only_what_a_person_set_is_said_of_an_old_file(migrated: dict[int, engine.Database]) -> None:
    """spec: @configuration"""
    for db in migrated.values():
        found = db.rows("select name, value, origin from setting_list where origin <> 'default'")
        assert [tuple(row.values()) for row in found] == [
            ("max_loop_turns", "40", "file"),
            ("process_timeout", "5", "file"),
        ]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    """The version of the tables of the file that a test opens."""
    return int(request.param)


@cache
def as_migrated(version: int) -> bytes:
    """The file of `version` after this build has opened it."""
    with tempfile.TemporaryDirectory() as folder:
        path = unpack(version, Path(folder))
        engine.open(path).close()
        return path.read_bytes()


@pytest.fixture
def old(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[engine.Database]:
    """The file of that version in a folder in which its runs can go on; audited at the end."""
    monkeypatch.chdir(tmp_path)
    path = unpack(version, tmp_path)
    path.write_bytes(as_migrated(version))
    make_known(path)
    with engine.open(path) as db:
        db.execute("update projects set root = ? where root = 'project'", (str(tmp_path / "project"),))
        yield db
    audit(path)


# -- 1. what it tells


def full(version: int, name: str, row: str, texts: dict[str, str]) -> str:
    """A recorded row with its long texts, so that a difference can be read, and without what runs cost: builds before
    version 3 told 0 where no price is known; without fractions of seconds, which they told of entries; and without the
    history of a run, which other builds told in another order and without texts.
    """
    values = [texts.get(value, value) for value in row.split("  ")]
    for place, column in enumerate(TOLD[version]["columns"][name].split(", ")):
        if column in ('"cost"', '"history"') and len(values) > place:
            values[place] = "…"
        if column == '"updated_at"':
            values = [re.sub(r"^('[-\d]{10} [:\d]{8})\.\d{3}'$", r"\1'", value) for value in values]
        if column == '"telemetry"':
            values = [re.sub(r'"cost":[^,]*', '"cost":…', value) for value in values]
    return "  ".join(values)


INTERNAL = {"packet_accounts", "run_lines", "_run_lines"}
"""Recorded views that only rules read."""


@pytest.mark.parametrize(
    ("version", "name"),
    [(version, name) for version in VERSIONS for name in sorted(set(TOLD[version]["columns"]) - INTERNAL)],
)
def test_views_and_tables_say_what_they_said(migrated: dict[int, engine.Database], version: int, name: str) -> None:
    told = TOLD[version]
    texts: dict[str, str] = {}
    rows = rows_of(migrated[version], name, told["columns"][name], texts)
    found = {full(version, name, row, texts) for row in rows}
    expected = {full(version, name, row, told["texts"]) for row in told["rows"][name]}
    assert expected
    assert sorted(expected - found) == []
    assert sorted(found - expected) == []
    assert len(rows) == len(told["rows"][name]), "no row twice"


@pytest.mark.parametrize("version", VERSIONS)
def test_packets_are_what_was_sent(migrated: dict[int, engine.Database], version: int) -> None:
    packets = migrated[version].rows("select run, turn, role, sha256, text from packet_texts")
    assert len(packets) == len(TOLD[version]["rows"]["packet_texts"]) > 100
    for packet in packets:
        where = f"{packet['run']} {packet['turn']} {packet['role']}"
        assert hashlib.sha256(packet["text"].encode()).hexdigest() == packet["sha256"], where


@pytest.mark.parametrize("version", VERSIONS)
def test_turns_differ_as_they_did(migrated: dict[int, engine.Database], version: int) -> None:
    assert changes_of(migrated[version], {}) == TOLD[version]["changes"]
    assert any(TOLD[version]["changes"].values())


# -- 2. the schema


def test_the_schema_is_that_of_a_fresh_file(old: engine.Database, tmp_path: Path) -> None:
    old.execute("drop view app_runs")
    old.execute("drop table app_notes")
    with engine.open(tmp_path / "fresh.db") as fresh:
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


def test_an_index_of_an_analyst_is_there_again_after_its_table_was_made_anew(tmp_path: Path) -> None:
    path = unpack(1, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create index lengths on contents (chars)")
    with engine.open(path) as db:
        assert db.value("select tbl_name from sqlite_schema where name = 'lengths'") == "contents"


# -- 3. going on


def on_disk(name: str) -> str:
    """A file of the project, in the folder that a test works in."""
    return Path("project", name).read_text("utf-8")


def test_what_waited_is_accepted_and_done(old: engine.Database, version: int) -> None:
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
            Path("project", "data.csv").write_text(TOLD[version]["files"]["project/data.csv"], encoding="utf-8")
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


def test_a_run_is_purged(old: engine.Database, version: int) -> None:
    old.purge("strikes")
    assert old.value("select count(*) from run_overview where run = 'strikes'") == 0
    assert old.value("select count(*) from run_overview") == len(TOLD[version]["rows"]["run_overview"]) - 1
