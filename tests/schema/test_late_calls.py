"""Doors that are called by their names are compiled when they are first called, and are a part of the statement.

spec: @late_calls
"""

from __future__ import annotations

import gc
import re
import shutil
import sqlite3
import weakref
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from driving import begin

import engine
from engine.db.registration import register
from engine.schema.build import installed

MOST_OPCODES = 6_000
MOST_OPCODES_OF = {"_take_ladder_step": 6_200}
"""That of a packet."""
SQL = "".join(text for _, text in installed().sources)
CALLS = [
    (letters.split(", "), rest)
    for letters, rest in re.findall(r"insert into _late_call \(door, ([a-l, ]+)\)(.*?);\n", SQL, re.DOTALL)
]
PROCEDURES = re.search(r"create view _procedures as.*?;\n", SQL, re.DOTALL)
assert PROCEDURES is not None
DOORS = {
    *(door for _, rest in CALLS for door in re.findall(r"^\s*select\s+'(\w+)'", rest)),
    *re.findall(r"'(_run_\w+\w)'", PROCEDURES[0]),
    *(f"_run_{action}" for action in ("rm", "update", "think")),
}
PROMPT = "insert into {} (run, path, body, attributes) values ('demo', 'run://demo', ?, '{{\"model\": \"m\"}}')"


def columns_of(connection: apsw.Connection, view: str) -> int:
    return len(connection.execute(f"pragma table_info({view})").fetchall())


def test_the_doors_are_found() -> None:
    assert len(CALLS) >= 15
    assert {
        "_steer_run",
        "_ensure_run",
        "_run_set",
        "_run_rm",
        "open_proposal",
        "_settle_proposal",
        "_condense",
    } <= DOORS


def test_each_call_gives_a_door_its_columns(db: engine.Database) -> None:
    for letters, rest in CALLS:
        doors = re.findall(r"^\s*select\s+'(\w+)'", rest) or ["_run_set"]
        for door in doors:
            assert columns_of(db.connection, door) > ord(letters[-1]) - ord("a"), door
    assert {columns_of(db.connection, door) for door in DOORS if door.startswith("_run_")} == {9}


@pytest.mark.parametrize("door", sorted(DOORS))
def test_a_late_door_is_a_small_program(db: engine.Database, door: str) -> None:
    values = ", ".join("?" * columns_of(db.connection, door))
    program = db.connection.execute(f"explain insert into {door} values ({values})", [None] * (values.count("?")))
    assert 10 < len(program.fetchall()) <= MOST_OPCODES_OF.get(door, MOST_OPCODES)


def test_what_it_raises_undoes_the_whole_statement(db: engine.Database) -> None:
    begin(db, "demo")
    with db.transaction():
        db.insert("verb_set", run="demo", path="known://a", body="kept")
        before = db.rows("select * from commands"), db.rows("select * from events"), db.rows("select * from runs")
        with pytest.raises(engine.NotFound, match="404 persona 'nobody': there is none of that name"):
            db.insert("verb_set", path="run://demo", body="go", attributes='{"persona": "nobody"}')
        assert (
            db.rows("select * from commands"),
            db.rows("select * from events"),
            db.rows("select * from runs"),
        ) == before
    assert db.value("select body from known_entries where path = 'known://a'") == "kept"


def test_it_leaves_no_trace_in_what_sqlite_tells_of_a_statement(db: engine.Database) -> None:
    begin(db, "demo")
    connection = db.connection
    connection.execute("create temp table told (id integer primary key)")
    connection.execute("insert into temp.told values (4711)")
    db.insert("verb_rm", run="demo", path="known://none*")
    assert connection.last_insert_rowid() == 4711
    connection.execute("drop table temp.told")


@pytest.mark.parametrize("door", ["nothing", "_run_set; drop table runs", '_run_set" values (1)', "", "_LATE"])
def test_another_name_is_no_door(db: engine.Database, door: str) -> None:
    with pytest.raises(engine.ValidationError, match=r"400 late_call: there is no door '") as raised:
        db.execute("insert into _late_call (door, a) values (?, 1)", (door,))
    assert repr(door) in str(raised.value)


def test_the_door_is_that_of_the_file_that_calls(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "app.db"))) as connection:
        for name in ("one", "two"):
            engine.attach(connection, tmp_path / f"{name}.db", name)
        connection.execute("attach ? as a_part", (str(tmp_path / "part.db"),))
        connection.execute("create table a_part.engine_meta (key)")
        for name in ("two", "one"):
            connection.execute(PROMPT.format(f"{name}.verb_set"), (f"Go {name}",))
            assert connection.execute(f"select prompt from {name}.loop_list").fetchall() == [(f"Go {name}",)]


def test_two_copies_of_a_file_at_one_connection_are_a_conflict(tmp_path: Path) -> None:
    engine.open(tmp_path / "one.db").close()
    shutil.copy(tmp_path / "one.db", tmp_path / "copy.db")
    with closing(apsw.Connection(":memory:")) as connection:
        for name in ("one", "copy"):
            engine.attach(connection, tmp_path / f"{name}.db", name, trust=True)
        with pytest.raises(engine.Conflict, match="409 two copies of one engine file are attached"):
            connection.execute(PROMPT.format("one.verb_set"), ("Go",))
        assert connection.execute("select count(*) from one.runs").get == 0
        connection.execute("detach copy")
        connection.execute(PROMPT.format("one.verb_set"), ("Go",))
        assert connection.execute("select count(*) from one.loops").get == 1


def test_a_connection_of_apsw_is_not_kept_by_its_function() -> None:
    connection = apsw.Connection(":memory:")
    register(connection)
    gone = weakref.ref(connection)
    del connection
    gc.collect()
    assert gone() is None


def test_the_standard_library_calls_late_too(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        register(connection)
        connection.execute(PROMPT.format("verb_set"), ("Go",))
        assert connection.execute("select prompt from loop_list").fetchall() == [("Go",)]
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(
                "insert into verb_set (path, attributes) values ('run://demo', '{\"persona\": \"nobody\"}')"
            )
        assert "404 persona 'nobody'" in connection.execute("select last_error()").fetchone()[0]
        connection.execute("attach ? as other", (str(tmp_path / "other.db"),))
        connection.execute("insert into verb_set (path, body) values ('run://demo', 'On')")
        assert connection.execute("select count(*) from loops").fetchone() == (2,)
