"""A file takes in a module when something of it is needed: by a write, in its transaction; a look changes nothing.

1. A write takes in what it names, and what that needs. 2. A look sees an empty module, in any file. 3. What fails takes
nothing in. 4. Eight processes, other handles and prepared statements go on. 5. A file with modules is as one that was made
with them. 6. Nobody else has the names of modules.

spec: @modules
"""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from audit import audit

import engine
from engine.schema import update
from engine.schema.build import installed
from engine.schema.modules import sizes
from engine.schema.objects import objects_of

DOMAIN = "insert into rule_sets (project_id) values (null)"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A file of the core alone."""
    made = tmp_path / "t.db"
    with closing(apsw.Connection(str(made))) as connection:
        installed().having(()).fresh.copy_to(connection)
    yield made
    audit(made)


def modules(db: engine.Database) -> list[str]:
    return [row["name"] for row in db.rows("select name from engine_modules order by name")]


def opened(path: Path) -> engine.Database:
    return engine.open(path, trust=True)


def test_a_write_takes_in_the_module_that_it_names(path: Path) -> None:
    with opened(path) as db:
        assert modules(db) == []
        db.execute(DOMAIN)
        assert modules(db) == ["rules"]
        assert db.value("select count(*) from rule_sets") == 1
        assert db.has("rules")
        assert not db.has("threads")
    with opened(path) as db:
        assert update.is_fresh(db.connection)
        assert modules(db) == ["rules"]


def test_a_module_brings_what_it_needs(path: Path) -> None:
    with opened(path) as db:
        db.install("mcp")
        assert {"mcp", *installed().having(["mcp"]).offered[0].needs} <= {*modules(db)}
        assert modules(db) == sorted(module.name for module in installed().having(["mcp"]).modules)


def test_what_is_rolled_back_takes_nothing_in(path: Path) -> None:
    with opened(path) as db:
        with suppress(RuntimeError), db.transaction():
            db.execute(DOMAIN)
            assert modules(db) == ["rules"]
            raise RuntimeError
        assert modules(db) == []
        with pytest.raises(engine.EngineError):
            db.execute("insert into rule_sets (project_id) values (4711)")
        assert modules(db) == []
        db.execute(DOMAIN)
        assert modules(db) == ["rules"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_look_sees_a_module_that_holds_nothing(path: Path, read_only: bool) -> None:
    with engine.open(path, read_only=read_only) if read_only else opened(path) as db:
        before = path.read_bytes()
        assert db.rows("select * from rule_list") == []
        assert db.value("select count(*) from rule_domains") == 0
        # its seeds are there
        assert db.value("select count(*) from threads") > 0
        assert len(db.sql("select * from thread_list")) == db.value("select count(*) from threads")
        # several at once, one of which needs another
        assert db.rows("select 1 from rule_list, mcp_items, thread_log, search_texts") == []
        assert db.sql("select 1 from mcp_items, rule_list, thread_log, _function_tools") == []
        assert modules(db) == []
        assert path.read_bytes() == before
        assert db.value("select count(*) from temp.sqlite_schema") == 0


def test_a_look_within_a_transaction_sees_what_it_has_written(path: Path) -> None:
    with opened(path) as db, db.transaction():
        db.execute("insert into personas (name, body) values ('a', 'x')")
        assert db.rows("select * from rule_list") == []
        assert db.value("select body from personas where name = 'a'") == "x"


INSERT_WITH = "with known (id) as (select null) insert into rule_sets (project_id) select id from known"


def test_a_write_may_begin_with_with(path: Path) -> None:
    with opened(path) as db:
        db.execute(INSERT_WITH)
        assert modules(db) == ["rules"]
        assert db.value("select count(*) from rule_sets") == 1


def test_a_write_that_begins_with_with_is_part_of_a_transaction(path: Path) -> None:
    with opened(path) as db:
        with suppress(RuntimeError), db.transaction():
            db.execute(INSERT_WITH)
            assert db.value("select count(*) from rule_sets") == 1
            raise RuntimeError
        assert modules(db) == []
        with db.transaction():
            db.execute(INSERT_WITH)
        assert modules(db) == ["rules"]
        assert db.value("select count(*) from rule_sets") == 1


@pytest.mark.parametrize("statement", [INSERT_WITH, f"/* a note */ {INSERT_WITH}", DOMAIN])
def test_who_reads_only_writes_into_no_module(path: Path, statement: str) -> None:
    with engine.open(path, read_only=True) as db:
        with pytest.raises(engine.EngineError):
            db.execute(statement)
        with pytest.raises(engine.EngineError):
            db.sql(statement)
        assert modules(db) == []


def test_a_view_of_another_module_is_not_read_from_an_empty_file(path: Path) -> None:
    with opened(path) as db:
        db.execute("insert into personas (name, body) values ('a', 'x')")
        # what a look names is there for it, but the rows of the core are those of the file
        count = "select count(*) from personas"
        assert db.value(f"select ({count}) from (select count(*) from rule_list)") == db.value(count)
        assert db.value(f"select ({count}) from (select count(*) from rule_list), (select 1 from thread_list limit 1)")
        assert db.rows("select 1 from rule_list where exists (select 1 from workflow_list)") == []


def test_a_statement_that_fails_leaves_its_transaction_as_it_was(path: Path) -> None:
    with opened(path) as db:
        with db.transaction():
            db.execute("insert into personas (name, body) values ('a', 'x')")
            with pytest.raises(engine.EngineError):
                db.execute("insert into rule_sets (project_id) values (4711)")
            with pytest.raises(engine.EngineError):
                db.rows("select fail(400, 'no') from (select count(*) from rule_list)")
            assert modules(db) == []
        assert db.value("select count(*) from personas where name = 'a'") == 1
        assert modules(db) == []


def test_a_look_that_fails_leaves_the_handle_as_it_was(path: Path) -> None:
    with opened(path) as db:
        for _ in range(2):
            with pytest.raises(engine.EngineError, match="no"):
                db.rows("select fail(400, 'no') from (select count(*) from rule_list)")
        assert db.value("select count(*) from temp.sqlite_schema") == 0
        assert {row["name"] for row in db.rows("pragma database_list")} <= {"main", "temp"}
        db.execute(DOMAIN)
        assert db.value("select count(*) from rule_sets") == 1


def test_a_name_of_nothing_is_told_as_before(path: Path) -> None:
    with opened(path) as db:
        for statement in ("select * from nothing_there", "insert into nothing_there values (1)"):
            with pytest.raises(engine.ValidationError, match="nothing_there"):
                db.rows(statement)
        with pytest.raises(engine.NotFound, match="'nothing'"):
            db.install("nothing")
        assert modules(db) == []


def test_other_handles_go_on(path: Path) -> None:
    with opened(path) as first, opened(path) as second:
        assert second.value("select count(*) from runs") == 0
        first.execute(DOMAIN)
        assert modules(second) == ["rules"]
        assert second.value("select count(*) from rule_sets") == 1
        second.execute("delete from rule_sets")
        assert first.value("select count(*) from rule_sets") == 0


def _write_to(path: str, number: int, ready: object, go: object) -> None:
    wanted = ("rules", "threads", "workflows", "jobs")[number % 4]
    with opened(Path(path)) as db:
        ready.release()  # type: ignore[attr-defined]
        go.wait()  # type: ignore[attr-defined]
        for each in range(10):
            db.execute("insert into personas (name, body) values (?, 'x')", (f"{number}-{each}",))
            db.install(wanted)
            assert db.has(wanted)


def test_eight_processes_install_at_once(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, go = context.Semaphore(0), context.Event()
    processes = [context.Process(target=_write_to, args=(str(path), number, ready, go)) for number in range(8)]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    go.set()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    with opened(path) as db:
        assert {"rules", "threads", "workflows", "jobs"} <= {*modules(db)}
        assert update.is_fresh(db.connection)
        assert db.value("select count(*) from personas where body = 'x'") == 80


@pytest.mark.parametrize("module", [module.name for module in installed().offered])
def test_a_file_that_took_it_in_is_one_that_was_made_with_it(path: Path, module: str) -> None:
    with opened(path) as db:
        db.install(module)
        assert sorted(objects_of(db.connection)) == sorted(installed().having([module]).fresh.objects)
    with opened(path) as db:
        assert update.is_fresh(db.connection)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_in_which_modules_come_is_all_one(path: Path, seed: int) -> None:
    names = [module.name for module in installed().offered]
    random.Random(seed).shuffle(names)
    taken: set[str] = set()
    with opened(path) as db:
        for name in names[:8]:
            db.install(name)
            taken.add(name)
            expected = installed().having(taken).fresh.objects
            assert sorted(objects_of(db.connection)) == sorted(expected), name


def test_an_object_of_an_app_stands_in_the_way_of_a_module(path: Path) -> None:
    with opened(path) as db:
        db.execute("create table rule_sets (mine)")
        with pytest.raises(engine.Conflict, match="table 'rule_sets'"):
            db.install("rules")
        assert modules(db) == []
    with pytest.raises(engine.PermissionDenied, match="rule_sets"):
        engine.open(path).close()


def test_a_table_of_modules_that_another_made_counts_for_nothing(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("drop table engine_modules")
        connection.execute("create table engine_modules (name text generated always as ('rules'), x)")
        connection.execute("insert into engine_modules (x) values (1)")
        connection.commit()
    with closing(apsw.Connection(str(path))) as connection:
        assert [module.name for module in update.build_of(connection).modules] == []
        connection.execute("drop table engine_modules")
        connection.execute("create table engine_modules (name text primary key) strict, without rowid")


def test_a_connection_that_was_registered_says_which_module_it_needs(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        engine.register(connection)
        connection.execute("insert into personas (name, body) values ('a', 'x')")
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("insert into _late_call (door, a) values ('_select_rules', 1)")
        assert "module rules" in str(connection.execute("select last_error()").fetchone()[0])
        connection.rollback()


def test_what_a_module_takes_is_told_by_objects_and_bytes(path: Path) -> None:
    counted = "select count(*), sum(length(sql)) from sqlite_schema where sql is not null"
    with opened(path) as db:
        before = db.connection.execute(counted).fetchone()
        db.install("relations", "undo")
        after = db.connection.execute(counted).fetchone()
        found = sizes(db.connection, installed().having(("relations", "undo")).modules)
    assert set(found) == {"relations", "undo"}
    assert sum(size.objects for size in found.values()) == after[0] - before[0]
    # the points of the core that are written anew for them are not theirs
    assert sum(size.bytes for size in found.values()) > 0.8 * (after[1] - before[1])
    with opened(path) as db:
        assert sizes(db.connection, ()) == {}
