"""Runs that rest: archived or removed after so many days, by a command or by a setting; and what lists and packets show of
what is past.

spec: @retention @max_history @run_names
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cli import READ_AND_ANSWER, database, engine, script
from fresh import fresh

import engine as library

DAY = 86_400_000
DONE = '<update status="200">done</update>'


class Clock:
    """A clock in Unix milliseconds that a test sets."""

    def __init__(self) -> None:
        import time

        self.now = int(time.time() * 1000) - 100 * DAY

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[library.Database]:
    with fresh(clock=clock) as database:
        yield database


def model(tmp_path: Path, *answers: str) -> str:
    return script(tmp_path / "model.jsonl", answers or [DONE] * 9)


def names(db: library.Database, archived: bool = False) -> list[str]:
    query = "select alias from runs where (archived_at is not null) = ? order by id"
    return [alias for (alias,) in db.tuples(query, (int(archived),))]


def test_idle_runs_are_archived_and_a_prompt_brings_them_back(
    db: library.Database, clock: Clock, tmp_path: Path
) -> None:
    for run in ("old", "new"):
        db.run("Go", run=run, model=model(tmp_path))
        clock.now += 20 * DAY
    db.insert("verb_archive_idle", days=30)
    assert (names(db), names(db, archived=True)) == (["new"], ["old"])
    db.run("Again", run="old")
    assert names(db) == ["old", "new"]
    with pytest.raises(library.ValidationError, match="days must be a number above 0"):
        db.insert("verb_archive_idle", days=0)


def test_a_run_with_work_left_is_not_idle(db: library.Database, clock: Clock, tmp_path: Path) -> None:
    db.start("Go", run="queued", model=model(tmp_path))
    db.run("Go", run="waits", model=model(tmp_path, "<sh>make</sh>"), root=tmp_path)
    clock.now += 90 * DAY
    db.insert("verb_archive_idle", days=1)
    db.insert("verb_purge_idle", days=1)
    assert names(db) == ["queued", "waits"]


def test_the_settings_archive_and_remove_after_a_prompt_and_an_event_tells(
    db: library.Database, clock: Clock, tmp_path: Path
) -> None:
    db.run("Go", run="ancient", model=model(tmp_path))
    clock.now += 40 * DAY
    db.run("Go", run="old", model=model(tmp_path))
    clock.now += 20 * DAY
    db.insert("_set_layer", name="archive_idle_days", layer="file", value="15")
    db.insert("_set_layer", name="retention_days", layer="file", value="50")
    db.run("Go", run="today", model=model(tmp_path))
    assert (names(db), names(db, archived=True)) == (["today"], ["old"])
    told = json.loads(db.value("select detail from events where kind = 'retention.applied'"))
    assert told == {"archived": ["old"], "removed": ["ancient"]}
    db.run("Go", run="today")
    assert db.value("select count(*) from events where kind = 'retention.applied'") == 1


def test_a_run_that_others_came_from_is_removed_after_them(db: library.Database, clock: Clock, tmp_path: Path) -> None:
    db.run("Go", run="first", model=model(tmp_path))
    db.fork("first", "fork")
    clock.now += 10 * DAY
    db.insert("verb_purge_idle", days=5)
    assert names(db) == ["first"]
    db.insert("verb_purge_idle", days=5)
    assert names(db) == []


def test_children_rest_and_go_with_their_run(db: library.Database, clock: Clock, tmp_path: Path) -> None:
    answers = ["<subtask>Look</subtask>", DONE, DONE]
    db.run("Go", run="top", model=model(tmp_path, *answers), max_depth=1)
    assert len(names(db)) == 2
    assert db.tuples("select run from idle_runs") == [("top",)]
    clock.now += 10 * DAY
    db.insert("verb_purge_idle", days=5)
    assert names(db) == []


def test_older_prompts_leave_the_log_beyond_max_history(db: library.Database, tmp_path: Path) -> None:
    db.insert("_set_layer", name="max_history", layer="file", value="1")
    for number in range(4):
        db.run(f"Prompt number {number}", run="demo", model=model(tmp_path, *[f"answer {n}" for n in range(4)]))
    packet = db.value("select body from packet_texts where run = 'demo' and turn = 4 and role = 'user'")
    assert [f"Prompt number {number}" in packet for number in range(4)] == [False, False, True, True]
    assert db.value("select visibility from known_entries where run = 'demo' and path = 'prompt://1'") == "archived"


def test_titles_can_be_switched_off(db: library.Database, tmp_path: Path) -> None:
    db.run("Which port?", run="demo", model=model(tmp_path))
    assert db.value("select title from run_overview") == "Which port?"
    db.insert("_set_layer", name="auto_titles", layer="file", value="0")
    assert db.value("select title from run_overview") is None
    db.describe("demo", "Ports")
    assert db.value("select title from run_overview") == "Ports"


def age(folder: Path, days: int) -> None:
    """Make the runs of a file older, as its own clock would have."""
    with library.open(database(folder)) as db:
        db.execute("update runs set updated_at = updated_at - ?", (days * DAY,))


def test_the_command_line_archives_and_purges_by_idle_time(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--run", "old", "--model", script(tmp_path / "s.jsonl", READ_AND_ANSWER), "Which port?")
    assert "no run was idle for 30d" in engine(folder, "runs", "archive", "--idle", "30d").stderr
    age(folder, 40)
    assert "archived: old" in engine(folder, "runs", "archive", "--idle", "30d").stderr
    refused = engine(folder, "runs", "purge", "--before", "30d")
    assert (refused.returncode, "1 run, old: will be removed for good; add --yes to confirm" in refused.stderr) == (
        2,
        True,
    )
    assert "old: purged" in engine(folder, "runs", "purge", "--before", "30d", "--yes").stdout
    assert "no run has been idle" in engine(folder, "runs", "purge", "--before", "30d", "--yes").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "archive"),
        ("runs", "archive", "x", "--idle", "3d"),
        ("runs", "archive", "--idle", "soon"),
        ("runs", "archive", "--idle", "0d"),
        ("runs", "archive", "--idle", "3d", "--undo"),
        ("runs", "purge"),
        ("runs", "purge", "x", "y"),
        ("runs", "purge", "--before", "3d", "--tree"),
    ],
)
def test_what_names_no_runs_is_wrong_usage(folder: Path, words: tuple[str, ...]) -> None:
    assert engine(folder, *words).returncode == 2


def test_a_person_is_told_what_a_setting_removed(folder: Path, tmp_path: Path) -> None:
    answers = script(tmp_path / "s.jsonl", READ_AND_ANSWER)
    engine(folder, "run", "--run", "old", "--model", answers, "Which port?")
    age(folder, 40)
    assert engine(folder, "config", "retention_days=30").returncode == 0
    done = engine(folder, "run", "--run", "new", "--model", answers, "Which port?")
    assert "removed as retention_days says: old" in done.stderr
    assert [row["run"] for row in json.loads(engine(folder, "runs", "--json").stdout)] == ["new"]
