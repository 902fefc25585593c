"""Files that somebody crafted: opening one never executes what it says.

spec: @opening @rebuild
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from driving import script
from people import file_with_a_run
from test_open import write_with

import engine
from engine.errors import EngineError


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A database of another application, beside which a crafted file is opened."""
    path = tmp_path / "victim.db"
    write_with(path, "create table customers (name text)", "insert into customers values ('Ada')")
    return path


def looked_at_and_opened(path: Path) -> None:
    """Open a file in each way; what is refused is as good."""
    for options in ({"read_only": True}, {}):
        with suppress(EngineError):
            engine.open(path, **options).close()


@pytest.mark.parametrize("kind", ["view", "trigger"])
@pytest.mark.parametrize("quote", ['"', "'", "]", "`", ""])
def test_a_name_in_engine_objects_is_no_sql(tmp_path: Path, victim: Path, kind: str, quote: str) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    made = tmp_path / "made.db"
    name = (
        f"x{quote}; commit; attach '{made}' as p; create table p.t (a); attach '{victim}' as v; "
        "delete from v.customers; begin immediate; --"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("insert into engine_objects (type, name) values (?, ?)", (kind, name))
        connection.execute("update engine_meta set value = 'other' where key = 'sources'")
    looked_at_and_opened(path)
    assert not made.exists()
    with closing(sqlite3.connect(victim)) as connection:
        assert connection.execute("select name from customers").fetchall() == [("Ada",)]


def test_a_view_whose_name_is_sql_is_dropped_by_its_name(tmp_path: Path, victim: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    name = f"x\"; attach '{victim}' as v; delete from v.customers; --"
    quoted = '"' + name.replace('"', '""') + '"'
    write_with(
        path, f"create view {quoted} as select 1", "update engine_meta set value = 'other' where key = 'sources'"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("insert into engine_objects (type, name) values ('view', ?)", (name,))
    with engine.open(path) as db:
        assert db.value("select count(*) from sqlite_schema where name = ?", (name,)) == 0
    with closing(sqlite3.connect(victim)) as connection:
        assert connection.execute("select count(*) from customers").fetchone() == (1,)


@pytest.mark.parametrize("kind", ["table if exists runs; drop view", "table", "index"])
def test_a_type_in_engine_objects_is_no_sql(tmp_path: Path, kind: str) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("pragma ignore_check_constraints = on")
        connection.execute("insert into engine_objects (type, name) values (?, 'settings')", (kind,))
        connection.execute("update engine_meta set value = 'other' where key = 'sources'")
    with engine.open(path) as db:
        assert db.value("select run from run_overview") == "demo"
        assert db.value("select count(*) from settings") > 0


def test_the_source_of_a_section_is_no_sql(tmp_path: Path, victim: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    name = f"runs where id = ?; attach '{victim}' as v; delete from v.customers; --"
    quoted = '"' + name.replace('"', '""') + '"'
    # a view of an app's own, which stands on no table of the engine's
    write_with(path, f"create view {quoted} as select 1 as turn_id, 'x' as text")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "insert into packet_sections (name, profile, role, ordinal, source, template) "
            "values ('planted', 'full', 'user', 1, ?, 'rows')",
            (name,),
        )
    with engine.open(path) as db:
        db.run("Go", run="other", model=script(tmp_path, '<update status="200">done</update>'))
    with closing(sqlite3.connect(victim)) as connection:
        assert connection.execute("select name from customers").fetchall() == [("Ada",)]
