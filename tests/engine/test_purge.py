"""A purged run is gone from the file to the last word, and nothing else is.

spec: @purge @events @python_contract
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, begin, script
from engine_cli import engine as command

import engine
from engine.db.purging import sweep
from engine.errors import Conflict, NotFound

SECRET = "the vault opens with swordfish"


@pytest.fixture
def two(db: engine.Database, tmp_path: Path) -> engine.Database:
    """Two runs of which each has secrets, and both the same note."""
    for run in ("keep", "gone"):
        notes = (
            f'<set path="known://same">shared {"words " * 150}</set>'
            f'<set path="known://own" tags="{run}">{run}: {SECRET} {"word " * 150}</set>'
        ) + "".join(f'<set path="known://{n}">{run} {n} {"word " * 150}</set>' for n in range(20))
        model = script(tmp_path, notes + GO_ON, '<set path="known://same" visibility="archived"/>' + DONE)
        db.run(f"Be {run}", run=run, model=model)
    # the first one may take more pages than a purge of so little frees
    db.execute("vacuum")
    return db


def rows_of(db: engine.Database) -> dict[str, Any]:
    tables = [row["name"] for row in db.rows("select name from sqlite_schema where type = 'table'")]
    return {name: db.value(f"select count(*) from [{name}]") for name in tables}


def packets(db: engine.Database) -> list[dict[str, Any]]:
    return db.rows("select run, turn, role, sha256, body from packet_texts where run = 'keep' order by turn, ordinal")


@pytest.mark.usefixtures("in_folder")
def test_what_was_said_is_in_no_byte_of_the_file(two: engine.Database) -> None:
    before = packets(two)
    assert two.purge("gone") > 0
    assert packets(two) == before
    two.close()
    content = two.path.read_bytes()
    assert b"Be gone" not in content
    assert b"gone: the vault" not in content
    assert b"keep: the vault" in content
    assert {path.name for path in two.path.parent.glob("*-wal")} == set()


def test_a_run_alone_leaves_nothing_but_the_clock(db: engine.Database, tmp_path: Path) -> None:
    empty = rows_of(db)
    db.run("Go", run="gone", model=script(tmp_path, f'<set path="known://a">{"word " * 300}</set>' + DONE))
    clock = db.value("select max(id) from events")
    db.purge("gone")
    left = {name: count for name, count in rows_of(db).items() if count != empty.get(name, 0)}
    # what was spent on a day stays: a limit of the day counts it
    assert left == {"events": 1, "projects": 1, "purged_seals": 1, "spending": 1}
    assert db.row("select id, kind, detail from events") == {
        "id": clock + 1,
        "kind": "run.purged",
        "detail": json.dumps({"run": "gone"}, separators=(",", ":")),
    }


def test_full_text_search_finds_it_no_more(two: engine.Database) -> None:
    for run in ("keep", "gone"):
        number = two.value("select id from runs where alias = ?", (run,))
        path = f"https://example.test/{run}"
        two.insert("_write_entry", run_id=number, path=path, body=f"{run}: {SECRET}", visibility="visible")
    query = "select count(*) from content_search('swordfish')"
    assert two.value(query) == 2
    two.purge("gone")
    assert two.value(query) == 1
    two.execute("insert into content_search (content_search) values ('integrity-check')")


def test_a_run_of_the_same_name_starts_with_nothing(two: engine.Database, tmp_path: Path) -> None:
    two.purge("gone")
    two.run("Again", run="gone", model=script(tmp_path, DONE))
    assert two.value("select count(*) from known_entries where run = 'gone' and scheme = 'known'") == 0
    assert two.value("select count(*) from turns as t join runs as r on r.id = t.run_id where r.alias = 'gone'") == 1


def test_a_parent_stays_while_its_forks_do(two: engine.Database) -> None:
    child = two.fork("gone", "child")
    with pytest.raises(Conflict, match=r"409 run gone: has child runs or forks: child; purge them first"):
        two.purge("gone")
    known = two.rows("select path, body from known_entries where run = 'gone' order by path")
    two.purge(child)
    assert two.rows("select path, body from known_entries where run = 'gone' order by path") == known
    two.purge("gone")


def test_what_is_driven_or_not_there_is_refused(db: engine.Database) -> None:
    begin(db, "busy")
    db.insert("_claim_lease", run="busy", token="t", holder="{}", replaces=None)
    with pytest.raises(Conflict, match="409 run busy: a process works on it; stop it first"):
        db.purge("busy")
    with pytest.raises(NotFound, match="404 run 'none': there is no such run"):
        db.purge("none")
    with db.transaction(), pytest.raises(Conflict, match="commit the transaction first"):
        db.purge("busy")
    assert db.value("select count(*) from runs") == 1


def test_a_kill_between_purge_and_sweep_leaves_only_what_is_swept_later(two: engine.Database) -> None:
    two.insert("verb_purge_run", run="gone")
    assert two.value("select count(*) from known_entries where run = 'gone'") == 0
    assert two.value("select count(*) from _purges") == 1
    sweep(two)
    assert two.value("select count(*) from _purges") == 0
    assert two.value("select count(*) from entries where scope like 'purged:%'") == 0


def test_what_a_kill_left_is_swept_by_the_next_purge(two: engine.Database) -> None:
    two.insert("verb_purge_run", run="gone")
    with pytest.raises(NotFound):
        two.purge("gone")
    assert two.value("select count(*) from _purges") == 0
    two.execute("pragma wal_checkpoint(truncate)")
    assert b"gone: the vault" not in two.path.read_bytes()


def test_a_file_that_cannot_be_made_smaller_now_is_purged_all_the_same(two: engine.Database) -> None:
    reading = two.connection.execute("select * from contents")
    next(reading)
    assert two.purge("gone") == 0
    reading.close()
    assert two.rows("select alias from runs") == [{"alias": "keep"}]
    assert two.value("pragma foreign_keys") == 1


def test_the_command_asks_unless_told(two: engine.Database, tmp_path: Path) -> None:
    two.close()
    refused = command(tmp_path, "runs", "purge", "gone", "--db", str(two.path))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "run gone, with 2 turns: will be removed for good; add --yes to confirm" in refused.stderr
    # a run without a turn of its own holds what its fork saw, and what a person wrote into it
    command(tmp_path, "fork", "gone", "--as", "twin", "--db", str(two.path))
    assert (
        "run twin: will be removed for good" in command(tmp_path, "runs", "purge", "twin", "--db", str(two.path)).stderr
    )
    assert command(tmp_path, "runs", "purge", "twin", "--yes", "--db", str(two.path)).returncode == 0
    done = command(tmp_path, "runs", "purge", "gone", "--yes", "--json", "--db", str(two.path))
    assert done.returncode == 0
    assert json.loads(done.stdout)["run"] == "gone"
    assert json.loads(done.stdout)["freed_bytes"] > 0
    assert command(tmp_path, "runs", "purge", "gone", "--yes", "--db", str(two.path)).returncode == 2
