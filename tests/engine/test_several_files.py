"""One command works on many databases, and says how each is.

1. doctor, migrate, purge and runs take files and folders, and exit with 1 if one failed.
2. A purge of old runs takes what it says, children and forks in the right order, and gives the room back.

spec: @several_files @retention
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as command
from engine_cli import on_terminal

import engine
from engine.db.purging import Purged, purge_before
from engine.errors import Conflict, ValidationError

DAY = 86_400_000


def age(db: engine.Database, run: str, days: int) -> None:
    """Make a run older, as its own clock would have."""
    db.execute("update runs set updated_at = updated_at - ? where alias = ?", (days * DAY, run))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with two databases, one of them below, and files that are none."""
    folder = tmp_path / "data"
    (folder / "below").mkdir(parents=True)
    for path in (folder / "one.db", folder / "below" / "two.sqlite"):
        with engine.open(path) as db:
            for run in ("old", "new"):
                db.run("Hi", run=run, model=script(tmp_path, DONE))
            age(db, "old", 40)
    (folder / "notes.db").write_text("no database")
    (folder / "other.txt").write_text("text")
    (folder / "loop").symlink_to(folder)
    return folder


def states(folder: Path, *words: str, code: int) -> dict[str, str | None]:
    done = command(folder, *words, "--json")
    assert done.returncode == code, done.stderr
    return {Path(row["file"]).name: row["fault"] for row in json.loads(done.stdout)}


def test_doctor_reads_all_databases_of_a_folder(data: Path) -> None:
    assert states(data, "doctor", ".", code=0) == {"two.sqlite": None, "one.db": None}
    found = states(data, "doctor", "one.db", "notes.db", code=1)
    assert found["one.db"] is None
    assert "is not a database" in str(found["notes.db"])
    assert "failed" in command(data, "doctor", "one.db", "notes.db").stdout
    assert command(data, "doctor", "nothing.db").returncode == 2


def test_doctor_finds_damage_and_what_nobody_trusts(data: Path) -> None:
    with engine.open(data / "one.db") as db:
        db.execute("create trigger planted after insert on runs begin select 1; end")
        db.execute("pragma journal_mode = delete")
    whole = bytearray((data / "below" / "two.sqlite").read_bytes())
    for place in range(8192, len(whole), 4096):
        whole[place : place + 8] = b"\xff" * 8
    (data / "below" / "two.sqlite").write_bytes(whole)
    found = states(data, "doctor", "one.db", "below/two.sqlite", code=1)
    assert "planted" in str(found["one.db"])
    assert found["two.sqlite"]


def test_migrate_brings_all_up_to_date_but_what_is_not_trusted(data: Path) -> None:
    with engine.open(data / "one.db") as db:
        db.execute("drop view run_overview")
    assert "to update it: engine migrate" in command(data, "doctor", "one.db").stdout
    assert states(data, "migrate", "one.db", "below", code=0) == {"one.db": None, "two.sqlite": None}
    with engine.open(data / "one.db", read_only=True) as db:
        assert db.differs is None
        assert db.value("select count(*) from run_overview") == 2
    with engine.open(data / "one.db") as db:
        db.execute("create trigger planted after insert on runs begin select 1; end")
    found = states(data, "migrate", "one.db", "below", code=1)
    assert "planted" in str(found["one.db"])
    assert found["two.sqlite"] is None


def test_old_runs_of_all_databases_go(data: Path) -> None:
    listed = command(data, "runs", "purge", "--before", "30d", "--dry-run", "--json", ".")
    assert [row["runs"] for row in json.loads(listed.stdout)] == [["old"], ["old"]]
    refused = command(data, "runs", "purge", "--before", "30d", ".")
    assert (refused.returncode, "2 runs, old, old" in refused.stderr) == (2, True)
    done = command(data, "runs", "purge", "--before", "30d", "--yes", "one.db", "notes.db", "below")
    assert done.returncode == 1
    assert "is not a database" in done.stdout
    for path in (data / "one.db", data / "below" / "two.sqlite"):
        with engine.open(path, read_only=True) as db:
            assert [row.run for row in db.runs()] == ["new"]


def test_when_is_a_span_or_a_day_and_archived_narrows_it(data: Path) -> None:
    idle = command(data, "runs", "purge", "--before", "60d", "--yes", "one.db")
    assert "no run has been idle since 20" in idle.stdout
    assert "old: would be purged" in command(data, "runs", "purge", "--before", "30d", "--dry-run", "one.db").stdout
    day = (datetime.now(UTC) - timedelta(days=20)).strftime("%Y-%m-%d")
    assert "no archived run" in command(data, "runs", "purge", "--before", day, "--archived", "--yes", "one.db").stdout
    assert "old: purged" in command(data, "runs", "purge", "--before", day, "--yes", "one.db").stdout
    for words in (
        ("--before", "2999-01-01"),
        ("--before", "soon"),
        ("demo", "--archived"),
        ("demo", "--dry-run"),
        ("--before", "3d", "one.db", "--db", "one.db"),
    ):
        assert command(data, "runs", "purge", *words).returncode == 2, words


def test_the_runs_of_all_databases_are_listed(data: Path) -> None:
    rows = json.loads(command(data, "runs", "--in", ".", "--json").stdout)
    assert [(row["file"], row["run"]) for row in rows] == [
        ("below/two.sqlite", "new"),
        ("below/two.sqlite", "old"),
        ("one.db", "new"),
        ("one.db", "old"),
    ]
    listed = command(data, "runs", "--in", "notes.db", "--in", "one.db", "--limit", "1")
    assert (listed.returncode, "is not a database" in listed.stderr) == (1, True)
    assert [line.split()[:3] for line in listed.stdout.splitlines()[1:]] == [["one.db", "new", "done"]]
    assert command(data, "runs", "--in", "nothing").returncode == 2


def test_a_person_sees_how_far_a_purge_is(data: Path) -> None:
    code, said = on_terminal(data, "runs", "purge", "--before", "30d", "one.db", typed="y\n")
    assert code == 0
    assert "Remove 1 run, old, for good?" in said
    assert "purging 1 of 1: old" in said


def test_archived_alone_and_forks_before_what_they_came_from(db: engine.Database, tmp_path: Path) -> None:
    for run in ("a", "b", "c"):
        db.run("Hi", run=run, model=script(tmp_path, f'<set path="known://x">{run}</set>' + GO_ON, DONE))
    db.fork("a", "a2")
    for run in ("a", "a2", "b", "c"):
        age(db, run, 100)
    db.describe("b", archived=True)
    assert purge_before(db, 90, archived=True, dry_run=True) == Purged(["b"], 0)
    assert len(db.runs()) == 4
    assert purge_before(db, 90, archived=True).runs == ["b"]
    told: list[tuple[int, int, str]] = []
    assert purge_before(db, 90, progress=lambda *each: told.append(each)).runs == ["a2", "c", "a"]
    assert told == [(0, 3, "a2"), (1, 3, "c"), (2, 3, "a")]
    assert db.runs() == []
    assert db.value("select count(*) from contents") == 0


def test_a_run_with_a_newer_fork_stays(db: engine.Database, tmp_path: Path) -> None:
    db.run("Hi", run="a", model=script(tmp_path, DONE))
    db.fork("a", "a2")
    age(db, "a", 100)
    assert purge_before(db, 90) == Purged([], 0)


def test_the_room_is_given_back_to_the_disk(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        for run in ("a", "b"):
            text = "".join(f'<set path="known://{n}">{run}{n} {"word " * 4000}</set>' for n in range(40))
            db.run("Hi", run=run, model=script(tmp_path, text + GO_ON, DONE))
            age(db, run, 100)
        db.execute("pragma wal_checkpoint(truncate)")
        before = db.path.stat().st_size
        freed = purge_before(db, 90).freed
        assert freed > 1_000_000
        assert before - db.path.stat().st_size == freed


def test_days_and_transactions_that_cannot_be_are_refused(db: engine.Database) -> None:
    for days in (0, -1, float("nan")):
        with pytest.raises(ValidationError):
            purge_before(db, days)
    with db.transaction(), pytest.raises(Conflict):
        purge_before(db, 1)
