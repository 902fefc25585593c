"""An app's own connections: registered, attached, in one transaction with its tables.

spec: @embedding
"""

from __future__ import annotations

import gc
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest
from people import file_with_a_run

import engine
from engine.errors import Conflict, EngineError, ValidationError

WRITE = "insert into verb_set (run, path, body, request_id) values ('demo', 'known://b', 'x', 'q')"
READ = "select state from command_results where request_id = 'q'"


def test_an_apsw_connection_is_made_able_to_write(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(file_with_a_run(tmp_path / "t.db")))) as connection:
        engine.register(connection)
        connection.execute(WRITE).fetchall()
        assert connection.execute(READ).fetchone() == ("resolved",)
        assert connection.execute("pragma trusted_schema").fetchone() == (0,)
        with pytest.raises(
            Conflict,
            match="409 run demo: its status cannot change from 202 to 100; start, resume or abort the run",
        ):
            connection.execute("update runs set status = 100").fetchall()


def test_a_connection_of_the_standard_library_is_made_able_to_write(tmp_path: Path) -> None:
    with closing(sqlite3.connect(file_with_a_run(tmp_path / "t.db"))) as connection:
        engine.register(connection)
        with connection:
            connection.execute(WRITE)
        assert connection.execute(READ).fetchone() == ("resolved",)
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("update runs set status = 100")
        assert connection.execute("select last_error()").fetchone() == (
            "409 run demo: its status cannot change from 202 to 100; start, resume or abort the run instead",
        )


class Own(sqlite3.Connection):
    """A connection to which a weak reference can be had, which the standard library's own does not allow."""


@pytest.mark.parametrize("connect", [apsw.Connection, partial(sqlite3.connect, factory=Own)])
def test_a_connection_that_is_registered_and_forgotten_is_closed(
    tmp_path: Path, connect: Callable[[str], apsw.Connection | sqlite3.Connection]
) -> None:
    connection = connect(str(file_with_a_run(tmp_path / "t.db")))
    engine.register(connection)
    connection.execute(WRITE)
    forgotten = weakref.ref(connection)
    del connection
    gc.collect()
    assert forgotten() is None


def test_a_connection_that_is_not_registered_cannot_write(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    with (
        closing(sqlite3.connect(path)) as connection,
        pytest.raises(sqlite3.OperationalError, match="no such function"),
    ):
        connection.execute(WRITE)


def test_the_clock_is_the_connections_own(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with engine.open(path, clock=lambda: 1_700_000_000_000) as db:
        db.insert("verb_set", run="demo", path="run://demo", body="go", attributes='{"model":"m","overwrite_unseen":1}')
        assert db.value("select created_at from run_overview") == "2023-11-14 22:13:20"
        assert db.value("select now()") == 1_700_000_000_000


def test_an_attached_file_is_written_together_with_the_apps_tables(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "app.db"))) as connection:
        connection.execute("create table orders (id integer primary key, run text)")
        engine.attach(connection, tmp_path / "agent.db", "agent")
        with connection:
            connection.execute(
                "insert into agent.verb_set (run, path, body, attributes) "
                "values ('demo', 'run://demo', 'go', '{\"model\":\"m\",\"overwrite_unseen\":1}')"
            ).fetchall()
            connection.execute("insert into orders (run) values ('demo')")
        joined = "select r.status from orders as o join agent.run_overview as r on r.run = o.run"
        assert connection.execute(joined).fetchone() == (100,)
        with pytest.raises(EngineError):
            order_a_run_that_is_not_there(connection)
        assert connection.execute("select count(*) from orders").fetchone() == (1,)
        assert connection.execute("select count(*) from sqlite_schema where name = 'runs'").fetchone() == (0,)


def order_a_run_that_is_not_there(connection: apsw.Connection) -> None:
    """One transaction whose second write the engine refuses."""
    with connection:
        connection.execute("insert into orders (run) values ('bad')")
        connection.execute("insert into agent.verb_set (run, path, body) values ('bad', 'known://a', 'x')").fetchall()


def test_attach_refuses_a_name_that_is_none(tmp_path: Path) -> None:
    with (
        closing(apsw.Connection(":memory:")) as connection,
        pytest.raises(ValidationError, match="is not a valid name"),
    ):
        engine.attach(connection, tmp_path / "t.db", 'a"; drop')


def test_attach_refuses_another_applications_file(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table customers (name text)")
    with closing(apsw.Connection(":memory:")) as connection, pytest.raises(Conflict, match="another application"):
        engine.attach(connection, path)
