"""The schema as a whole: its golden dump, that all of it compiles, and that any SQLite from 3.40 reads it.

spec: @file_format @people_views
"""

from __future__ import annotations

import ast
import itertools
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from golden import GOLDEN, fresh_dump
from people import PEOPLES_VIEWS, file_with_a_run, names, views_for_people

import engine


def test_the_schema_is_the_golden_one() -> None:
    assert fresh_dump() == GOLDEN.read_text(encoding="utf-8"), (
        "the schema changed: look at the difference, then write it anew with 'python tests/schema/golden.py'"
    )


@pytest.mark.parametrize("view", PEOPLES_VIEWS)
def test_a_view_for_people_has_its_columns(db: engine.Database, view: str) -> None:
    columns = {row["name"] for row in db.rows("select name from pragma_table_info(?)", (view,))}
    assert set(PEOPLES_VIEWS[view].split()) <= columns


def test_views_for_people_say_what_they_promise(db: engine.Database) -> None:
    assert set(PEOPLES_VIEWS) <= set(views_for_people(db.connection))


def test_every_view_answers(tmp_path: Path) -> None:
    with engine.open(file_with_a_run(tmp_path / "t.db")) as db:
        assert failures(db.connection, (f'select * from "{view}"' for view in names(db.connection, "view"))) == []


def test_every_write_path_compiles(db: engine.Database) -> None:
    assert failures(db.connection, write_paths(db.connection)) == []


def test_each_column_of_an_internal_view_is_read(db: engine.Database) -> None:
    """By a view, a trigger, a template, or a statement in Python; `*` in a view may bring more than it needs."""
    read: set[tuple[str | None, str | None]] = set()

    def note(action: int, name: str | None, column: str | None, _: str | None, reader: str | None) -> int:
        if action == apsw.SQLITE_READ and reader is not None:
            read.add((name, column))
        return apsw.SQLITE_OK

    views = dict(db.connection.execute("select name, sql from sqlite_schema where type = 'view'"))
    statements = [f'explain select * from "{view}"' for view in views]
    # of the updates of a table the last is enough: its triggers are compiled with any
    paths = {statement.partition(" set ")[0]: statement for statement in write_paths(db.connection)}
    db.connection.authorizer = note
    try:
        failures(db.connection, itertools.chain(statements, paths.values()))
    finally:
        db.connection.authorizer = None
    named = columns_named_outside(db.connection, views)
    unread = {
        f"{view}.{column}"
        for view, sql in views.items()
        # what says in its create what it promises is named in SPEC
        if view.startswith("_") and not view.startswith("_invariant_") and not re.search(r"\bas\n--", sql)
        for _, column, *_ in db.connection.execute(f'pragma table_info("{view}")')
        if (view, column) not in read and not named[view] & {column, "*"}
        # what '*' brings is not named
        if re.search(rf"\bas {column}\b" if re.search(r"select\s+\*|\w\.\*", sql) else rf"\b{column}\b", sql)
    }
    assert unread == set(UNREAD), "remove the column, or say in UNREAD what it is there for"


def columns_named_outside(connection: apsw.Connection, views: dict[str, str]) -> dict[str, set[str]]:
    """Of each view the words of the statements in Python that name it, and '*' where these take whole rows."""
    named: dict[str, set[str]] = {view: set() for view in views}
    for file in Path(engine.__file__).parent.rglob("*.py"):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if views.keys() & set(re.findall(r"\w+", text)) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = re.findall(r"\w+|\*", node.value)
                for view in views.keys() & set(words):
                    named[view] |= {"*"} if node.value == view else set(words)
    for (view,) in connection.execute("select source from packet_sections union select stamps from packet_sections"):
        if view is not None:
            named[view].add("*")
    return named


UNREAD = {
    "_delegations_ahead.tiers": "the three tiers are looked up at once",
    "_forget_unused.due": "a view has a column",
    "_index_texts.id": "a view has a column",
    "_inherited_points.at_event": "the point is that of the row with the largest",
    **dict.fromkeys(
        (f"_setting_defaults.{column}" for column in ("kind", "least", "meaning", "most", "needed")),
        "settings are seeded from it",
    ),
}
"""Columns of internal views that no view, trigger, template or statement in Python reads, and what they are there for."""


def test_no_statement_of_a_trigger_takes_the_rows_of_another(db: engine.Database) -> None:
    reused = {
        program for statement in write_paths(db.connection) for program in programs_that_reuse(db.connection, statement)
    }
    assert reused == set(), "write 'in (select all …)' there: SQLite mixes up subqueries of views in one trigger"


def programs_that_reuse(connection: apsw.Connection, statement: str) -> Iterator[str]:
    """The triggers in which a subquery behind `in` is answered with the rows of one that ran before it."""
    program, before = statement, ""
    try:
        rows = connection.execute(statement).fetchall()
    except apsw.SQLError:
        return  # a door without a trigger
    for address, code, _, _, _, name, *_ in rows:
        if (address, code) == (0, "Init"):
            program = name or statement
        if (before, code) == ("Gosub", "OpenDup"):
            yield program
        before = code


def test_a_subquery_that_is_mixed_up_is_found() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(
            """create table a (id integer primary key);
            create table b (id integer primary key);
            create view unused_a as select id from a where id not in (select id + 1 from b);
            create view unused_b as select id from b where id not in (select id + 2 from a);
            create view door as select 1 as due;
            create trigger door__open instead of insert on door begin
                delete from a where id in (select id from unused_a);
                delete from b where id in (select id from unused_b);
            end"""
        )
        found = list(programs_that_reuse(connection, "explain insert into door (due) values (1)"))
    # a library that does not do it is as good
    assert found in (["-- TRIGGER door__open"], [])


def failures(connection: apsw.Connection, statements: Iterator[str]) -> list[str]:
    """What SQLite says of the statements that do not run; a door is not asked for what it has no trigger for."""
    found = []
    for statement in statements:
        try:
            connection.execute(statement).fetchall()
        except apsw.SQLError as error:
            if "because it is a view" not in str(error):
                found.append(f"{statement}: {error}")
    return found


def write_paths(connection: apsw.Connection) -> Iterator[str]:
    """An `explain` of each way to write each table and door; triggers are compiled with it, all the way down."""
    for kind in ("table", "view"):
        for name in names(connection, kind):
            columns = [row[1] for row in connection.execute(f'pragma table_info("{name}")')]
            listed = ", ".join(f'"{column}"' for column in columns)
            yield f'explain insert into "{name}" ({listed}) values ({", ".join("null" for _ in columns)})'
            if kind == "table" and name not in ("content_search", "text_search"):
                yield from (f'explain update "{name}" set "{column}" = "{column}"' for column in columns)
                yield f'explain delete from "{name}"'


def test_the_standard_library_reads_every_view_for_people(tmp_path: Path) -> None:
    with closing(sqlite3.connect(file_with_a_run(tmp_path / "t.db"))) as connection:
        counts = {
            view: connection.execute(f"select count(*) from (select * from {view})").fetchone()[0]
            for view in PEOPLES_VIEWS
        }
    empty = {view for view, count in counts.items() if count == 0}
    # the packet of this run was offered by its length alone, so nothing was sent; its proposal waits, nothing ran
    assert empty == {"packet_texts", "decisions", "file_changes", "command_outputs"}


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 shell here")
def test_the_stock_shell_reads_every_view_for_people(tmp_path: Path) -> None:
    path = file_with_a_run(tmp_path / "t.db")
    script = "".join(f"select '{view}', count(*) from (select * from {view});\n" for view in PEOPLES_VIEWS)
    shell = subprocess.run(["sqlite3", "-readonly", path], input=script, capture_output=True, text=True, check=False)
    assert shell.stderr == ""
    assert [line.split("|")[0] for line in shell.stdout.splitlines()] == list(PEOPLES_VIEWS)


def test_a_view_for_people_calls_no_function_of_the_engine(db: engine.Database) -> None:
    from engine.schema.registration import pure_functions

    own = [f"{function.name}(" for function in pure_functions()] + ["fail(", "now("]
    stored = {view: db.value("select sql from sqlite_schema where name = ?", (view,)) for view in PEOPLES_VIEWS}
    assert [(view, call) for view, sql in stored.items() for call in own if f" {call}" in sql] == []


def test_no_table_calls_a_function_of_the_engine(db: engine.Database) -> None:
    from engine.schema.registration import pure_functions

    tables = db.rows("select name, sql from sqlite_schema where type in ('table', 'index') and sql is not null")
    own = [f"{function.name}(" for function in pure_functions()] + ["fail(", "now("]
    assert [(row["name"], call) for row in tables for call in own if f" {call}" in row["sql"]] == []
