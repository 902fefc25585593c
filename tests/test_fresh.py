"""What all other tests rely on: the audit notices, whatever it looked at before, and a fresh database is one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from audit import audit
from fresh import fresh, stays_open

import engine

Change = Callable[[engine.Database], object]


def make(path: Path, *statements: str) -> Path:
    """An engine file in which these statements were run with nothing to check them."""
    engine.open(path).close()
    with closing(apsw.Connection(str(path))) as connection:
        engine.register(connection)
        connection.execute("pragma foreign_keys = off").fetchall()
        for statement in statements:
            connection.execute(statement).fetchall()
    return path


def write(db: engine.Database) -> None:
    """A run, and an entry whose words are in the index."""
    for path in ("run://demo", "skill://a"):
        db.insert("verb_set", run="demo", path=path, body="words to be found")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("create view _invariant_none_is_two as select 2", "_invariant_none_is_two: (2,)"),
        ("create view _invariant_ours as select path_scheme('known://a')", "_invariant_ours: ('known',)"),
        ("create table child (run_id references runs (id)); insert into child values (77)", "row 1 of child"),
        (
            "create table kept (a); insert into kept values (-1); pragma writable_schema = on; update sqlite_schema set "
            "sql = 'create table kept (a check (a > 0))' where name = 'kept'",
            "integrity_check: CHECK constraint failed in kept",
        ),
    ],
)
def test_an_audit_tells_what_is_wrong_and_forgets_it(tmp_path: Path, statement: str, told: str) -> None:
    sound = make(tmp_path / "sound.db")
    audit(sound)
    broken = make(tmp_path / "broken.db", statement)
    for _ in range(2):
        with pytest.raises(AssertionError) as found:
            audit(broken)
        assert told in str(found.value)
        audit(sound)


def test_an_audit_finds_a_damaged_page(tmp_path: Path) -> None:
    path = make(tmp_path / "t.db", "create table kept (a)", "insert into kept values (zeroblob(3000))")
    audit(path)
    with closing(apsw.Connection(str(path))) as connection:
        page = connection.execute("select rootpage from sqlite_schema where name = 'kept'").get
        size = connection.pragma("page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : (page - 1) * size + 8] = b"\x0d\0\0\xff\xff\0\0\0"
    path.write_bytes(content)
    with pytest.raises((AssertionError, apsw.CorruptError)):
        audit(path)


def test_an_audit_finds_a_damaged_index_of_words(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with engine.open(path) as db:
        write(db)
    audit(path)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("update content_search_data set block = zeroblob(length(block)) where id > 10").fetchall()
        assert connection.changes() > 0
    with pytest.raises((AssertionError, apsw.Error)):
        audit(path)


def test_an_audit_finds_tables_where_they_lie(tmp_path: Path) -> None:
    one, two = (f"create table {name} (a check (a = '{name}'))" for name in ("one", "two"))
    rows = [f"insert into {name} values ('{name}')" for name in ("one", "two")]
    audit(make(tmp_path / "a.db", one, two, *rows))
    audit(make(tmp_path / "b.db", "create table gone (a)", one, "drop table gone", two, *rows))


def test_a_fresh_database_is_audited_when_its_test_ends() -> None:
    def use(statements: tuple[str, ...]) -> None:
        with fresh() as db, closing(apsw.Connection(str(db.path))) as other:
            other.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            for statement in statements:
                other.execute(statement).fetchall()

    lost = "insert into loops (run_id, sequence, mode, prompt, created_at) values (77, 1, 'act', 'x', 1)"
    by_hand = (
        "create table kept (a)",
        "insert into kept values (-1)",
        "pragma writable_schema = on",
        "update sqlite_schema set sql = 'create table kept (a check (a > 0))' where name = 'kept'",
    )
    for statements, told in (
        (("pragma foreign_keys = off", lost), "of loops"),
        (("create view _invariant_none_is_two as select 2",), "_invariant_none_is_two: (2,)"),
        (by_hand, "CHECK constraint failed in kept"),
    ):
        with pytest.raises(AssertionError) as found:
            use(statements)
        assert told in str(found.value)
        with fresh():
            pass


@pytest.mark.parametrize(
    "change",
    [
        write,
        lambda db: db.execute("create table kept (a)"),
        lambda db: db.execute("drop trigger loops__guard_transition"),
        lambda db: db.execute("create temp table kept (a)"),
        lambda db: db.execute("begin"),
        lambda db: db.execute("pragma foreign_keys = off"),
        lambda db: db.connection.create_scalar_function("now", lambda: 0, 0),
        lambda db: db.connection.execute("attach ':memory:' as kept").fetchall(),
        lambda db: db.rights.change(give=["all"]),
        lambda db: db.path.with_name("kept").touch(),
        lambda db: db.close(),
    ],
    ids=[
        "rows",
        "table",
        "trigger",
        "temporary",
        "transaction",
        "pragma",
        "function",
        "attached",
        "right",
        "file",
        "closed",
    ],
)
def test_nothing_that_a_test_has_left_is_in_a_fresh_database(change: Change) -> None:
    def told(db: engine.Database) -> list[object]:
        return [
            db.value("select count(*) from runs"),
            db.value("select count(*) from content_search('words')"),
            db.value("select group_concat(type || name) from sqlite_schema"),
            db.value("select count(*) from sqlite_temp_schema"),
            db.value("select now() > 0"),
            db.value("select is_confirmed('all')"),
            db.value("pragma foreign_keys"),
            db.tuples("select name from pragma_database_list where name <> 'temp'"),
            db.in_transaction,
            sorted(path.name for path in db.path.parent.iterdir()),
        ]

    with fresh() as db:
        before = told(db)
    with fresh() as db:
        change(db)
    with fresh() as db:
        assert told(db) == before


def test_a_cursor_that_is_left_open_shows_nothing_old() -> None:
    with fresh() as db:
        db.execute("create table kept (a)")
        db.connection.execute("insert into kept values (1), (2)")
        left = db.connection.execute("select name from sqlite_schema")
    with fresh() as db:
        assert db.value("select count(*) from sqlite_schema where name = 'kept'") == 0
    left.close(True)


def test_other_handles_are_as_new_and_closed_when_they_are_closed() -> None:
    with fresh() as db:
        other = db.again()
        other.execute("pragma synchronous = off")
        other.execute("create temp table kept (a)")
        other.close()
        other.close()
        with pytest.raises((apsw.Error, engine.EngineError)):
            other.value("select 1")
        with db.again() as one, db.again() as two:
            assert one.connection is not two.connection
            assert one.value("pragma synchronous") == two.value("pragma synchronous") == 2
            assert one.value("select count(*) from sqlite_temp_schema") == 0


def test_no_connection_takes_the_schema_of_another_test_for_this_one() -> None:
    for name in ("one", "two"):
        with fresh() as db:
            db.execute(f"create table {name} (a)")
            with db.again() as other:
                assert other.value(f"select count(*) from {name}") == 0


def test_a_handle_that_is_left_open_disturbs_nobody() -> None:
    with fresh() as db:
        left = db.again()
        left.execute("begin immediate")
    with fresh() as db:
        write(db)
    left.close()


def test_a_database_in_memory_is_used_again_only_where_nothing_was_changed_in_it() -> None:
    with engine.open(":memory:") as looked, engine.open(":memory:") as other:
        assert looked.connection is not other.connection
        assert looked.value("select count(*) from runs") == 0
    for change in (write, lambda db: db.execute("create view kept as select 1")):
        with engine.open(":memory:") as db:
            change(db)
    with engine.open(":memory:") as db, engine.open(":memory:") as more:
        assert [each.value("select count(*) from runs") for each in (db, more)] == [0, 0]
        assert db.value("select count(*) from sqlite_schema where name = 'kept'") == 0


def test_a_file_that_stays_open_is_opened_anew_where_it_is_another(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with stays_open(path):
        with engine.open(path) as db:
            first = db.connection
            write(db)
        with engine.open(path) as db:
            assert db.connection is first
            assert db.value("select count(*) from runs") == 1
            db.execute("create temp table kept (a)")
        with engine.open(path) as db:
            assert db.connection is not first
            assert db.value("select count(*) from sqlite_temp_schema") == 0
        for file in tmp_path.iterdir():
            file.unlink()
        with engine.open(path) as db:
            assert db.value("select count(*) from runs") == 0
    audit(path)
    assert [file.name for file in tmp_path.iterdir()] == ["t.db"]
