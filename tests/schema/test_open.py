"""Opening a file: what is refused is left as it is, what is out of date is rebuilt, what is an app's stays.

spec: @opening @rebuild
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from golden import schema_dump
from people import file_with_a_run

import engine
from engine.errors import Conflict, EngineError, ValidationError


def write_with(path: Path, *statements: str) -> None:
    """Write to `path` with the standard library alone, as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def refused(path: Path) -> EngineError:
    """The error with which opening `path` is refused; not a byte of it and nothing beside it is changed."""
    before = path.read_bytes()
    with pytest.raises(EngineError) as caught:
        engine.open(path)
    assert path.read_bytes() == before
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    return caught.value


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("These are notes.\n" * 50, encoding="utf-8")
    error = refused(path)
    assert isinstance(error, ValidationError)
    assert str(error) == f"400 {path}: is not a database, and was not changed"


def test_a_database_of_another_application_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    write_with(path, "create table customers (name text)", "insert into customers values ('Ada')")
    error = refused(path)
    assert isinstance(error, Conflict)
    assert "another application" in str(error)


def test_a_file_of_a_newer_engine_is_refused(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    write_with(path, "pragma journal_mode = delete", "pragma user_version = 999")
    error = refused(path)
    assert isinstance(error, Conflict)
    assert "newer engine (version 999" in str(error)


@pytest.mark.parametrize("left", [50, 3000, 40_000])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, left: int) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    write_with(path, "pragma journal_mode = delete")
    path.write_bytes(path.read_bytes()[:left])
    assert refused(path).status in (400, 500)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    write_with(path, "pragma journal_mode = delete")
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xaa" * 3996
    path.write_bytes(content)
    assert "is damaged" in str(refused(path))


def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="is a folder"):
        engine.open(tmp_path)
    with pytest.raises(EngineError, match=r"404 .*no such folder"):
        engine.open(tmp_path / "nowhere" / "t.db")


def test_an_empty_file_becomes_an_engine_file(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.touch()
    with engine.open(path) as db:
        assert db.value("select count(*) from schemes") > 0


def test_a_file_opened_again_is_not_written(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    before = path.read_bytes()
    engine.open(path).close()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        "drop view known_entries",
        "drop trigger loops__guard_transition",
        "update engine_meta set value = 'older' where key = 'sources'",
    ],
)
def test_what_was_changed_by_hand_or_by_an_older_engine_is_rebuilt(tmp_path: Path, change: str) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    whole = schema_dump(path)
    write_with(path, change)
    with engine.open(path) as db:
        assert db.value("select count(*) from known_entries where path = 'known://a'") == 1
    assert schema_dump(path) == whole


def test_patterns_that_an_older_build_stored_as_they_were_typed_hold(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    write_with(
        path,
        "drop trigger file_constraints__normalize_pattern",
        "insert into file_constraints (project_id, pattern, rule, created_at) values (1, './a', 'readonly', 0), "
        "(1, 'b', 'readonly', 0), (1, './b', 'add', 0)",
    )
    with engine.open(path) as db:
        told = db.tuples("select pattern, rule from file_constraints order by id")
    assert told == [("a", "readonly"), ("b", "readonly"), ("./b", "add")]


def test_a_file_that_was_written_again_is_no_longer_missing(tmp_path: Path) -> None:
    """Older builds went on saying so of its entry: a model could not remove it any more, and was told that it had."""
    path = tmp_path / "t.db"
    with engine.open(path) as db:
        db.insert("verb_set", run="demo", path="run://demo", body="go", attributes='{"model": "m"}')
        db.insert("_report_file", project_id=1, path="a", kind="text", size=3, mtime_ns=1, sha256="h", text="one")
        db.insert("_sync_files", run_id=1)
        triggers = db.tuples("select name from sqlite_schema where type = 'trigger' and tbl_name = 'entries'")
    drops = [f"drop trigger {name}" for (name,) in triggers]
    write_with(path, *drops, """update entries set attributes = '{"kind":"missing","tags":"x"}' where path = 'a'""")
    with engine.open(path) as db:
        assert db.value("select attributes from entries where path = 'a'") == '{"tags":"x"}'


def test_a_view_that_was_replaced_by_hand_is_rebuilt(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    write_with(path, "drop view run_overview", "create view run_overview as select 1 as run")
    with engine.open(path) as db:
        assert db.value("select run from run_overview") == "demo"


@pytest.mark.parametrize("change", ["alter table models drop column max_output", "drop table run_options"])
def test_a_file_of_another_build_is_left_as_it_is(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t.db"
    engine.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        for (view,) in connection.execute("select name from sqlite_schema where type = 'view'").fetchall():
            connection.execute(f'drop view "{view}"')
        for (trigger,) in connection.execute("select name from sqlite_schema where type = 'trigger'").fetchall():
            connection.execute(f'drop trigger "{trigger}"')
        connection.execute(change)
        if change.startswith("drop"):
            connection.execute("create table run_options (name text primary key) strict, without rowid")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(Conflict, match=r"409 .*was written by another build of this version"):
        engine.open(path)
    assert path.read_bytes() == before


def test_what_an_app_made_survives_a_rebuild(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    write_with(
        path,
        "create table app_notes (text text)",
        "insert into app_notes values ('mine')",
        "create view app_runs as select run from run_overview",
        "create trigger app_notes__count after insert on app_notes begin select 1; end",
    )
    with engine.open(path) as db:
        db.execute("update settings set value = '7' where name = 'max_strikes'")
    write_with(path, "update engine_meta set value = 'older' where key = 'sources'")
    with engine.open(path) as db:
        assert db.value("select text from app_notes") == "mine"
        assert db.value("select run from app_runs") == "demo"
        assert db.value("select count(*) from sqlite_schema where name = 'app_notes__count'") == 1
        assert db.value("select value from settings where name = 'max_strikes'") == "7"


def test_a_rebuild_waits_for_a_live_driver(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    with engine.open(path) as db:
        db.insert("_claim_lease", run="demo", token="mine", holder="{}")
    engine.open(path).close()
    write_with(path, "update engine_meta set value = 'older' where key = 'sources'")
    with pytest.raises(Conflict, match="another version of the engine works on a run"):
        engine.open(path)
    write_with(path, "update leases set expires_at = 1")
    engine.open(path).close()


def test_a_read_only_open_changes_nothing(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    with engine.open(path, read_only=True) as db:
        assert db.value("select run from run_overview") == "demo"
        with pytest.raises(EngineError):
            db.insert("verb_set", run="demo", path="known://b", body="x")


def test_an_open_handle_keeps_no_page_of_the_schema(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with engine.open(tmp_path / "t.db") as db:
        assert db.connection.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0] < 100_000
