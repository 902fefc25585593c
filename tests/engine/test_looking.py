"""Looking at a file: nothing is written or rebuilt, whatever build made it and wherever it lies.

spec: @looking
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from driving import make_known
from engine_cli import READ_AND_ANSWER, database, engine, script
from test_bad_input import without_power
from test_plugins import PLUGIN

import engine as library

LOOKING = [
    ["runs"],
    ["show"],
    ["log"],
    ["packet"],
    ["context"],
    ["context", "--diff", "1", "2"],
    ["proposals"],
    ["config"],
    ["sql", "select run from run_overview"],
    ["files"],
    ["models"],
    ["doctor"],
]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database in which `demo` ran; nothing is done in it."""
    folder = tmp_path_factory.mktemp("ran") / "workspace"
    folder.mkdir()
    (folder / "notes.md").write_text("The port is 8080.\n", encoding="utf-8")
    engine(folder, "run", "--model", script(folder.parent / "s.jsonl", READ_AND_ANSWER), "--run", "demo", "Go")
    return folder


@pytest.fixture
def folder(ran: Path, tmp_path: Path) -> Path:
    """A folder with a database in which `demo` ran."""
    copy = Path(shutil.copytree(ran, tmp_path / "workspace"))
    make_known(database(copy))
    return copy


def change(path: Path, *statements: str) -> None:
    """Change a file as another program would, and leave no log of it behind."""
    with closing(apsw.Connection(str(path))) as connection:
        library.register(connection)
        for statement in statements:
            connection.execute(statement).fetchall()


def test_looking_leaves_no_trace(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for command in LOOKING:
        done = engine(folder, *command, env={"ENGINE_MODEL_fast": "scripted:none", "ENGINE_MODEL": "fast"})
        assert done.returncode in (0, 1 if command == ["doctor"] else 0), (command, done.stderr)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before, command


def test_another_build_is_told_in_one_line_and_hinders_nobody(folder: Path) -> None:
    with library.open(database(folder), read_only=True) as db:
        unused = db.value("select name from sqlite_schema where type = 'view' and name glob '_invariant_*' limit 1")
    change(database(folder), "update engine_meta set value = 'another' where key = 'sources'", f"drop view {unused}")
    before = database(folder).read_bytes()
    for command in LOOKING:
        done = engine(folder, *command)
        assert done.returncode in (0, 1 if command == ["doctor"] else 0), (command, done.stderr)
        told = done.stdout if command == ["doctor"] else done.stderr
        assert told.count("its rules are those of another build") == 1, command
        assert database(folder).read_bytes() == before, command


def test_a_view_that_a_file_lacks_is_a_conflict(folder: Path) -> None:
    change(database(folder), "drop view run_overview")
    done = engine(folder, "runs")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no such table: run_overview: its rules are those of another build" in done.stderr.splitlines()[-1]
    with library.open(database(folder), read_only=True) as db, pytest.raises(library.Conflict):
        db.rows("select * from run_overview")


def test_looking_without_a_plugin_leaves_its_triggers(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    program = "import engine, sys; engine.open(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", program, path], env={**os.environ, "PYTHONPATH": str(PLUGIN)}, check=True)
    before = path.read_bytes()
    assert "another build, or of other plugins" in engine(tmp_path, "runs", "--db", str(path)).stderr
    with library.open(path, read_only=True) as db:
        assert db.unknown == ()
        assert db.value("select count(*) from sqlite_schema where name like '%weather%'") > 0
    assert path.read_bytes() == before


def test_looking_with_a_plugin_whose_sql_is_wrong(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    with (tmp_path / "plugin" / "weather" / "weather_offer.sql").open("a") as file:
        file.write("\ncreate view _weather_told as select absent from runs;\n")
    wrong = "weather_offer.sql, the SQL file of a plugin: view '_weather_told': no such column: absent"
    for words, code in ((["runs"], 0), (["sql", "select 4711"], 0), (["run", "Go"], 1)):
        done = subprocess.run(
            [sys.executable, "-m", "engine", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "plugin")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, wrong in done.stderr) == (code, True), done.stderr
        assert code or "demo" in done.stdout or "4711" in done.stdout


def test_looking_while_a_driver_writes_sees_what_it_committed(folder: Path) -> None:
    with library.open(database(folder)) as db:
        db.insert("verb_set", run="demo", path="known://b", body="x")
        shown = engine(folder, "sql", "select body from known_entries where path = 'known://b'")
        assert (shown.returncode, shown.stdout.split()[-1]) == (0, "x")
        db.insert("verb_set", run="demo", path="known://b", body="y")
    assert sorted(path.name for path in (folder / ".engine").iterdir()) == [".gitignore", "engine.db"]


def test_a_file_in_a_folder_that_cannot_be_written_is_read(folder: Path) -> None:
    folder_of = database(folder).parent
    folder_of.chmod(0o555)
    for mode in (0o644, 0o444):
        database(folder).chmod(mode)
        done = without_power(folder, "runs")
        assert (done.returncode, "demo" in done.stdout) == (0, True), done.stderr
        assert without_power(folder, "sql", "select 1").returncode == 0
    folder_of.chmod(0o700)


def test_a_log_that_cannot_be_read_is_told(folder: Path) -> None:
    with library.open(database(folder)) as db:
        db.insert("verb_set", run="demo", path="known://b", body="x")
        log = database(folder).with_name("engine.db-wal").read_bytes()
    database(folder).with_name("engine.db-wal").write_bytes(log)
    database(folder).parent.chmod(0o555)
    done = without_power(folder, "runs")
    database(folder).parent.chmod(0o700)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "-wal" in done.stderr


def test_an_empty_or_missing_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(library.NotFound):
        library.open(tmp_path / "t.db", read_only=True)
    (tmp_path / "t.db").touch()
    with pytest.raises(library.Conflict, match="is empty"):
        library.open(tmp_path / "t.db", read_only=True)
    assert (tmp_path / "t.db").stat().st_size == 0


def test_a_reader_cannot_write(folder: Path) -> None:
    with library.open(database(folder), read_only=True) as db:
        db.execute("pragma query_only = off")
        with pytest.raises(library.EngineError):
            db.insert("verb_set", run="demo", path="known://b", body="x")
