"""Doors that are called by their names are compiled when they are first called, and are a part of the statement.

spec: @late_calls
"""

from __future__ import annotations

import gc
import json
import re
import shutil
import sqlite3
import threading
import weakref
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from driving import begin

import engine
from engine.schema.build import installed
from engine.schema.registration import register

MOST_OPCODES = 6_000
MOST_OPCODES_OF = {"_abort_run": 6_900}
"""That of a packet, and the one that ends whatever is under way."""
SQL = "".join(text for _, text in installed().all_sources)
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
        "_open_proposal",
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
        with pytest.raises(engine.NotFound, match="404 persona 'nobody': not found"):
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


@pytest.mark.parametrize(
    "door", ["nothing", "_run_set; drop table runs", '_run_set" values (1)', "", "_LATE", 5, b"_run_set"]
)
def test_another_name_is_no_door(db: engine.Database, door: str | int | bytes) -> None:
    with pytest.raises(engine.ValidationError, match=r"400 late_call: no such door: ") as raised:
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


@pytest.mark.parametrize("library", ["apsw", "sqlite3"])
def test_a_door_has_the_columns_that_another_connection_gave_it(tmp_path: Path, library: str) -> None:
    path = tmp_path / "t.db"
    engine.open(path).close()
    drop = "drop trigger _probe__write; drop view _probe;"
    make = """
        create view _probe as select {0} where false;
        create trigger _probe__write instead of insert on _probe
        begin insert into probed values (json_array({1})); end;
    """
    with closing(apsw.Connection(str(path))) as other, closing(_registered(path, library)) as connection:
        register(other)
        other.execute("create table probed (row)")
        other.execute(make.format("1 as x, 2 as y", "new.x, new.y"))
        for columns in ("x", "x, y, z", "y, z", "y, z"):
            connection.execute("insert into _late_call (door, a, b, c) values ('_probe', 1, 2, 3)")
            if library == "sqlite3":
                connection.commit()
            listed = columns.split(", ")
            other.execute(drop)
            other.execute(
                make.format(
                    ", ".join(f"0 as {column}" for column in listed), ", ".join(f"new.{column}" for column in listed)
                )
            )
        assert [json.loads(row) for (row,) in other.execute("select row from probed")] == [
            [1, 2],
            [1],
            [1, 2, 3],
            [1, 2],
        ]


def _registered(path: Path, library: str) -> Any:
    connection: Any = apsw.Connection(str(path)) if library == "apsw" else sqlite3.connect(path)
    register(connection)
    return connection


def test_two_copies_of_a_file_at_one_connection_are_a_conflict(tmp_path: Path) -> None:
    engine.open(tmp_path / "one.db").close()
    shutil.copy(tmp_path / "one.db", tmp_path / "copy.db")
    with closing(apsw.Connection(":memory:")) as connection:
        for name in ("one", "copy"):
            engine.attach(connection, tmp_path / f"{name}.db", name, trust=True)
        connection.execute(PROMPT.format("one.verb_set"), ("Go",))
        loops = "select (select count(*) from one.loops), (select count(*) from copy.loops)"
        assert connection.execute(loops).get == (1, 0)
        with connection:
            connection.execute(PROMPT.format("copy.verb_set"), ("Go",))
            with pytest.raises(engine.Conflict, match="409 two copies of the same database are attached"):
                connection.execute(PROMPT.format("one.verb_set"), ("On",))
        assert connection.execute(loops).get == (1, 1)
        connection.execute("detach copy")
        connection.execute(PROMPT.format("one.verb_set"), ("On",))
        assert connection.execute("select count(*) from one.loops").get == 2
    with closing(sqlite3.connect(":memory:")) as other:
        for name in ("one", "copy"):
            other.execute(f"attach ? as {name}", (str(tmp_path / f"{name}.db"),))
        register(other)
        with pytest.raises(sqlite3.OperationalError):
            other.execute(PROMPT.format("one.verb_set"), ("Go",))
        assert other.execute("select last_error()").fetchone()[0].startswith("409 two copies of the same database")


def test_a_late_call_takes_no_look_at_another_file(tmp_path: Path) -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        for name in ("one", "two"):
            engine.attach(connection, tmp_path / f"{name}.db", name)
        with connection:
            connection.execute(PROMPT.format("one.verb_set"), ("Go",))
            with engine.open(tmp_path / "two.db") as db:  # whoever had read that file could not write to it now
                db.execute(PROMPT.format("verb_set"), ("Go",))
            connection.execute(PROMPT.format("two.verb_set"), ("On",))
        assert connection.execute("select count(*) from two.loops").get == 2


def test_a_file_without_a_mark_is_found_among_others(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with closing(apsw.Connection(str(tmp_path / "t.db"))) as connection:
        register(connection)
        connection.execute("delete from engine_meta where key = 'mark'")
        connection.execute("attach ':memory:' as other")
        connection.execute(PROMPT.format("verb_set"), ("Go",))
        assert connection.execute("select count(*) from loops").get == 1


def test_a_mark_that_no_file_has_is_refused(db: engine.Database) -> None:
    db.connection.execute("attach ':memory:' as other")
    refused = pytest.raises(engine.ValidationError, match="400 late_call: no attached file has the mark 'x'")
    with db.transaction(), refused:
        db.insert("verb_set", run="demo", path="run://demo", attributes='{"model": "m"}')
        db.connection.execute(f"select late_call('x', '_log_command', 1{', null' * 11})")


def test_who_reads_a_view_that_calls_a_door_writes_nothing(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with closing(apsw.Connection(str(tmp_path / "t.db"))) as connection:
        register(connection)
        connection.execute(
            "create view trap as select late_call((select value from engine_meta where key = 'mark'), "
            f"'_ensure_run', 'x', '{{}}', 'main'{', null' * 9})"
        )
        with pytest.raises(
            engine.PermissionDenied, match="403 late_call: only a statement that writes can call a door"
        ):
            connection.execute("select * from trap").fetchall()
        assert connection.execute("select count(*) from runs").get == 0


def test_triggers_that_call_each_other_without_end_are_refused_in_any_thread(db: engine.Database) -> None:
    begin(db, "demo")
    db.execute(
        "create trigger again after update of state on commands when new.state = 'performing' begin "
        "insert into verb_get (run, path) values ('demo', 'known://*'); end"
    )
    raised: list[BaseException] = []

    def get() -> None:
        try:
            db.insert("verb_get", run="demo", path="known://*")
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=get)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert [str(error) for error in raised] == ["400 triggers nested too deep; correct the statement"]
    db.execute("drop trigger again")
    db.insert("verb_get", run="demo", path="known://*")


def test_what_an_app_makes_of_its_rows_counts_for_nothing(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with closing(apsw.Connection(str(tmp_path / "t.db"))) as own:
        register(own)
        own.execute("attach ':memory:' as other")
        own.row_trace = lambda cursor, row: {"row": row}
        own.execute(PROMPT.format("verb_set"), ("Go",))

    def as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
        return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}

    with closing(sqlite3.connect(tmp_path / "t.db", isolation_level=None)) as connection:
        register(connection)
        connection.execute("attach ':memory:' as other")
        connection.row_factory, connection.text_factory = as_dict, bytes
        connection.execute(PROMPT.format("verb_set"), ("On",))
        assert connection.execute("select count(*) as n from loops").fetchone() == {"n": 2}


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


def test_the_standard_library_begins_no_transaction_for_a_late_call(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    prompt = PROMPT.format("verb_set").replace("?", "'Go'")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        register(connection)
        for sql, run in ((connection.executescript, prompt), (connection.execute, f"with x as (select 1) {prompt}")):
            sql(run)
            assert not connection.in_transaction
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        assert connection.execute("select count(*) from loops").fetchone() == (2,)


def test_last_error_has_what_a_constraint_says_below_a_late_call(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        register(connection)
        connection.execute("create trigger full before insert on loops begin select raise(abort, 'no more'); end")
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(PROMPT.format("verb_set"), ("Go",))
        assert connection.execute("select last_error()").fetchone() == ("no more",)
        connection.execute("drop trigger full")
        connection.execute(PROMPT.format("verb_set"), ("Go",))
        assert connection.execute("select last_error()").fetchone() == ("no more",)
