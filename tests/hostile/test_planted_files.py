"""Files from elsewhere: looking at one, or opening one to drive it, ends soon and acts on nothing.

Each file is made from a fresh one by statements of an attacker, once with the mark of another build, so that it is rebuilt.

spec: @looking @trust
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from engine_cli import engine as command_line
from timing import check_cost

import engine
from engine import EngineError
from engine.db import clear_errors
from engine.db.connections import has_log

NUMBERS = "with recursive n (i) as (select 1 union all select i + 1 from n)"
ENDLESS = {
    "leases": f"{NUMBERS} select i as expires_at, i as run_id from n where i < 0",
    "engine_objects": f"{NUMBERS} select 'view' as type, cast(i as text) as name from n",
    "engine_meta": f"{NUMBERS} select 'x' as key, cast(i as text) as value from n where i < 0",
    "settings": f"{NUMBERS} select 'x' as name, 'y' as value from n where i < 0",
    "runs": f"{NUMBERS} select i as id, 'x' as alias from n",
}
PLANTED: dict[str, list[str]] = {
    **{
        f"{name} is a view without end": [f"drop table {name}", f"create view {name} as {sql}"]
        for name, sql in ENDLESS.items()
    },
    "run_overview has no end": [
        "drop view run_overview",
        f"create view run_overview as {NUMBERS} select i as run from n where i < 0",
    ],
    "a generated column": [
        "alter table runs add column evil text generated always as (hex(zeroblob(1000000))) virtual"
    ],
    "many tables": [f"create table t{number} (a, b, c)" for number in range(2000)],
    "many triggers": [f"create trigger g{number} after insert on runs begin select 1; end" for number in range(500)],
    "many names": [f"{NUMBERS} insert into engine_objects select 'v' || i, 'view' from n limit 100000"],
    "another table of leases": ["drop table leases", "create table leases (expires_at)"],
    "a trigger of an app": [
        "create table apps (a)",
        "create trigger apps__plant after insert on apps begin delete from runs; end",
    ],
}


@pytest.mark.parametrize("rebuilt", [False, True], ids=["as it is", "of another build"])
@pytest.mark.parametrize("name", PLANTED)
def test_opening_a_planted_file_ends_soon_and_acts_on_nothing(tmp_path: Path, name: str, rebuilt: bool) -> None:
    path = tmp_path / "planted.db"
    engine.open(path).close()
    with_planted = apsw.Connection(str(path))
    for pragma in ("foreign_keys = off", "legacy_alter_table = on", "synchronous = off"):
        with_planted.execute(f"pragma {pragma}").fetchall()
    with with_planted:
        for statement in PLANTED[name]:
            with_planted.execute(statement).fetchall()
        if rebuilt and "engine_meta" not in name:
            with_planted.execute("update engine_meta set value = 'x' where key = 'sources'").fetchall()
    with_planted.close()
    bytes_before = path.read_bytes()

    def look() -> None:
        with suppress(EngineError), engine.open(path, read_only=True) as db:
            assert db.connection.readonly("main")

    check_cost(10, look)
    assert path.read_bytes() == bytes_before

    def drive() -> None:
        with suppress(EngineError), engine.open(path) as db:
            db.rows("select * from run_overview")

    check_cost(20, drive)
    assert sorted(os.listdir(tmp_path)) == ["planted.db"]


def test_a_command_that_looks_gives_up_on_a_view_without_end(
    workspace_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clear_errors, "LOOK_SECONDS", 0.3)
    path = workspace_dir / "planted.db"
    engine.open(path).close()
    connection = apsw.Connection(str(path))
    for statement in PLANTED["run_overview has no end"]:
        connection.execute(statement).fetchall()
    connection.close()
    with engine.open(path, read_only=True) as db, pytest.raises(EngineError, match=r"504 .*longer than 0.3 s"):
        db.rows("select * from run_overview")
    for arguments in (["runs"], ["show"], ["doctor"], ["proposals"]):
        done = command_line(workspace_dir, *arguments, "--db", str(path))
        assert "Traceback" not in done.stderr
        assert "shows where" not in done.stderr


@pytest.mark.parametrize("name", ["engine.db", "engine.db-wal", "engine.db-shm", "engine.db-journal"])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_pipe_or_a_folder_in_the_place_of_a_database_holds_nothing_up(
    tmp_path: Path, name: str, read_only: bool
) -> None:
    for number, make in enumerate((os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path))):
        folder = tmp_path / str(number)
        folder.mkdir()
        if name != "engine.db":
            engine.open(folder / "engine.db").close()
        make(folder / name)
        with pytest.raises(engine.EngineError, match=r"is not a regular file|is a folder"):
            engine.open(folder / "engine.db", read_only=read_only).close()


@pytest.mark.parametrize("through", ["file", "link"])
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_link_beside_a_database_overwrites_nothing(tmp_path: Path, ending: str, through: str) -> None:
    for target in ("precious", "missing"):
        folder = tmp_path / target
        folder.mkdir()
        (folder / "precious").write_bytes(b"mine\n" * 2000)
        engine.open(folder / "engine.db").close()
        (folder / f"engine.db{ending}").symlink_to(target)
        name = folder / "engine.db"
        if through == "link":
            name = tmp_path / f"{target}.db"
            name.symlink_to(folder / "engine.db")
        before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        for read_only in (True, False):
            with pytest.raises(engine.EngineError, match=r"400 .*is a symbolic link.* remove the link"):
                engine.open(name, read_only=read_only)
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_log_beside_the_file_that_a_link_names_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to("real/engine.db")
    with engine.open(tmp_path / "real" / "engine.db") as db:
        db.execute("update settings set value = '77' where name = 'max_loop_turns'")
        assert has_log(link)
        with engine.open(link, read_only=True) as other:
            assert other.value("select value from settings where name = 'max_loop_turns'") == "77"


@pytest.mark.parametrize("planted", ["folder", "file", "dangling"])
def test_a_folder_from_elsewhere_leads_to_no_other_database(tmp_path: Path, planted: str) -> None:
    home, clone = tmp_path / "home", tmp_path / "clone"
    (home / ".engine").mkdir(parents=True)
    (clone / "below").mkdir(parents=True)
    engine.open(home / ".engine" / "engine.db").close()
    if planted == "file":
        (clone / ".engine").mkdir()
        (clone / ".engine" / "engine.db").symlink_to(home / ".engine" / "engine.db")
    else:
        (clone / ".engine").symlink_to(home / ".engine" if planted == "folder" else home / "none")
    (clone / "s.jsonl").write_text('"x"\n', encoding="utf-8")
    before = (home / ".engine" / "engine.db").read_bytes()
    for arguments in (["run", "--model", "scripted:s.jsonl", "Go"], ["runs"]):
        told = command_line(clone, *arguments)
        assert told.returncode == 1
        assert len(told.stderr.splitlines()) == 1
        assert "is a symbolic link to" in told.stderr
        assert "--db PATH" in told.stderr
    if planted != "dangling":
        told = command_line(clone / "below", "runs")
        assert "is behind a symbolic link and is passed over" in told.stderr
        assert command_line(clone, "runs", "--db", str(clone / ".engine" / "engine.db")).returncode == 0
    assert (home / ".engine" / "engine.db").read_bytes() == before
    assert sorted(os.listdir(home)) == [".engine"]


def test_a_database_that_is_a_link_to_itself_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".engine").mkdir()
    (tmp_path / ".engine" / "engine.db").symlink_to("engine.db")
    (tmp_path / "s.jsonl").write_text('"x"\n', encoding="utf-8")
    told = command_line(tmp_path, "run", "--model", "scripted:s.jsonl", "Go")
    assert told.returncode == 1
    assert told.stderr.startswith("engine: ")
    assert "symbolic link" in told.stderr
