"""`Database.sql`: one statement that reads; SQLite itself refuses the rest."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from counters import Counters
from driving import script

import engine
from engine.db.query import answer, read_only_rows

WRITES = [
    "insert into settings (name, value, meaning) values ('a', 'b', 'c')",
    "update settings set value = '1'",
    "delete from runs",
    "with a as (select 1) delete from runs",
    "insert into verb_set (run, path, body) values ('demo', 'run://demo', 'hello')",
    "replace into settings (name, value, meaning) values ('a', 'b', 'c')",
    "drop table runs",
    "create table more (a)",
    "create temp table more (a)",
    "create temp trigger more after insert on runs begin select 1; end",
    "alter table runs add column more",
    "attach ':memory:' as other",
    "detach main",
    "vacuum",
    "vacuum into 'copy.db'",
    "reindex",
    "analyze",
    "begin",
    "commit",
    "savepoint a",
    "pragma user_version = 7",
    "pragma journal_mode = delete",
    "pragma writable_schema = on",
    "pragma query_only = off",
    "pragma wal_checkpoint(truncate)",
    "pragma optimize",
    "select load_extension('x')",
    "select writefile('x', 'y')",
]


@pytest.mark.parametrize("query", WRITES)
def test_what_would_change_or_reach_anything_is_refused(db: engine.Database, query: str) -> None:
    before = db.value("select group_concat(name || coalesce(value, '')) from settings")
    with pytest.raises((engine.PermissionDenied, engine.ValidationError)) as caught:
        read_only_rows(db, query)
    assert "writefile" in query or caught.value.status == 403
    assert db.value("select group_concat(name || coalesce(value, '')) from settings") == before
    assert not db.connection.in_transaction


def test_a_refusal_names_the_statement_and_the_way_to_change_things(db: engine.Database) -> None:
    with pytest.raises(engine.PermissionDenied, match=r"DELETE.*'engine' or verb_"):
        db.sql("with a as (select 1) delete from runs")


READS = [
    "select 1",
    " -- a remark\nselect 1; -- another",
    "with a as (select 1) select * from a",
    "values (1)",
    "explain query plan select * from runs",
    "pragma table_info(runs)",
    "pragma user_version",
    "select * from pragma_table_info('runs')",
    "select value from json_each('[1]')",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3) select i from n",
    "select * from run_log limit 1",
]


@pytest.mark.parametrize("query", READS)
def test_what_reads_is_answered(db: engine.Database, query: str) -> None:
    assert isinstance(read_only_rows(db, query), list)


def test_every_view_of_people_is_answered(db: engine.Database) -> None:
    names = [
        row["name"]
        for row in db.sql("select name from sqlite_schema where type = 'view' and sql not like '%instead of%'")
    ]
    assert {"run_overview", "run_log", "turn_timeline", "known_entries", "open_proposals", "context_at"} <= set(names)
    for name in (
        "run_overview",
        "run_log",
        "turn_timeline",
        "known_entries",
        "open_proposals",
        "context_at",
        "packet_texts",
    ):
        assert db.sql(f"select * from {name}") == []


def test_bindings_are_by_place_or_by_name(db: engine.Database) -> None:
    assert db.sql("select ? as a", (1,)) == [{"a": 1}]
    assert db.sql("select :a as a", {"a": 2}) == [{"a": 2}]


def test_columns_of_one_name_are_told_apart(db: engine.Database) -> None:
    assert db.sql("select 1 as id, 2 as id, 3 as id") == [{"id": 1, "id_2": 2, "id_3": 3}]
    assert answer(db, "select 1 as a where 0").columns == ["a"]


@pytest.mark.parametrize(
    "query", ["", " ; ", "-- nothing", "select 1; select 2", "selec 1", "select * from nope", "select ?"]
)
def test_what_is_not_one_statement_is_malformed(db: engine.Database, query: str) -> None:
    with pytest.raises(engine.ValidationError):
        read_only_rows(db, query)


def test_time_is_limited(db: engine.Database) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
    with pytest.raises(engine.EngineError, match=r"longer than 0\.1 s") as caught:
        answer(db, endless, seconds=0.1)
    assert caught.value.status == 504


def test_a_value_that_is_too_large_is_an_overflow(db: engine.Database) -> None:
    with pytest.raises(engine.EngineError, match=r"more than 32,000,000 bytes") as caught:
        db.sql("select zeroblob(2000000000)")
    assert caught.value.status == 413


def test_rows_are_limited_and_the_cut_is_told(db: engine.Database) -> None:
    query = "select value from json_each('[1,2,3]')"
    assert answer(db, query, limit=2).rows == [(1,), (2,)]
    assert answer(db, query, limit=2).cut
    assert not answer(db, query, limit=3).cut


def test_the_connection_writes_again_afterwards(db: engine.Database) -> None:
    db.sql("select 1")
    with pytest.raises(engine.PermissionDenied):
        db.sql("delete from runs")
    db.execute("update settings set value = value")
    assert db.value("pragma query_only") == 0


def test_a_transaction_of_ones_own_is_seen(db: engine.Database) -> None:
    with db.transaction():
        db.execute("update settings set value = 'mine' where name = 'model'")
        assert db.sql("select value from settings where name = 'model'") == [{"value": "mine"}]
        db.execute("update settings set value = null where name = 'model'")


def test_a_file_opened_for_reading_stays_so(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    with engine.open(tmp_path / "t.db", read_only=True) as db:
        assert db.sql("select 1 as a") == [{"a": 1}]
        assert db.value("pragma query_only") == 1


def _driven(db: engine.Database, run: str, folder: Path, query: str, seen: list[object]) -> engine.Result:
    """Drive three turns, and ask `query` after each of them."""
    texts = [f'<set path="known://a">{number}</set><update status="102">on</update>' for number in (1, 2)]
    model = script(folder, *texts, '<update status="200">done</update>')

    def ask(event: engine.Event) -> None:
        if event["type"] == "turn":
            seen.append(db.sql(query)[0]["found"])

    return db.run("Go", run=run, model=model, on_event=ask)


def test_a_query_between_turns_leaves_their_statements_compiled(tmp_path: Path) -> None:
    compiled_anew: list[int] = []
    counters = Counters()
    seen: list[object] = []
    with engine.open(tmp_path / "t.db") as db:
        db.connection.trace_v2(
            apsw.SQLITE_TRACE_PROFILE,
            lambda event: (
                "data_version" in event["sql"]  # that of the index of words, which is always made anew
                or compiled_anew.append(counters.of(event, "REPREPARE"))
            ),
        )
        for run in ("first", "second"):
            _driven(db, run, tmp_path, "select count(*) as found from turns", seen)
        compiled_anew.clear()
        assert _driven(db, "third", tmp_path, "select count(*) as found from turns", seen).status == 200
        db.connection.trace_v2(0, None)
        assert seen == [*range(1, 10)]
        assert compiled_anew
        assert sum(compiled_anew) == 0
        with pytest.raises(engine.PermissionDenied):
            db.sql("delete from runs")
    assert list(tmp_path.glob("t.db*")) == [tmp_path / "t.db"]


def test_a_query_between_turns_knows_what_its_app_made(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        db.connection.create_scalar_function("doubled", lambda value: 2 * value)
        seen: list[object] = []
        _driven(db, "first", tmp_path, "select doubled(count(*)) as found from turns", seen)
        assert seen == [2, 4, 6]
        with db.transaction():
            db.insert("verb_set", run="second", path="run://second", body="Later")
            assert db.sql("select count(*) as runs from runs") == [{"runs": 2}]
        db.execute("create temp table runs (a)")
        assert db.sql("select count(*) as runs from runs") == [{"runs": 0}]


def test_a_query_of_a_closed_handle_is_a_conflict(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        _driven(db, "first", tmp_path, "select count(*) as found from turns", [])
    with pytest.raises(engine.Conflict):
        db.sql("select 1")
