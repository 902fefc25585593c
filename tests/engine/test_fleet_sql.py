"""One SQL over many files: the answer is that of a loop over the files.

1. Random queries of a grammar, against one table that a loop has filled. 2. What SQLite means by a text, a date, a division.
3. Files in use, damaged, of another version, of strangers: reported, and the others are read. 4. Both ways of reading a
file give the same, also when somebody writes meanwhile. 5. Tables, JSON, CSV and Parquet at the terminal.

spec: @fleet_sql
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pyarrow.parquet
import pytest
from campaign import examples
from driving import DONE, script
from engine_cli import engine as cli
from every_run import every_run
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.across import reading, still_file
from engine.across.analysis import named_files
from engine.errors import EngineError, NotFound, ValidationError
from engine.schema.registration import register

VIEWS = {
    "run_overview": (("turns", "status", "loops"), ("run", "model", "created_at", "answer", "file")),
    "cost_by_day": (("calls", "prompt_tokens", "unknown_prices"), ("day", "model", "run", "file")),
    "run_log": (("turn", "status"), ("run", "action", "target", "body", "file")),
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of every kind of run, of one turn, and of none."""
    folder = tmp_path_factory.mktemp("fleet")
    every_run().put(folder).rename(folder / "a.db")
    for name in ("b", "c", "d"):
        with engine.open(folder / f"{name}.db") as db:
            if name != "d":
                db.run(f"Prompt {name}", run=name, model=script(folder, "<set path='known://x'>1</set>", DONE))
    settle(folder)
    return folder


def settle(folder: Path) -> None:
    """Make files look as if they had been written a while ago."""
    for path in folder.glob("*.db"):
        os.utime(path, (time.time() - 60,) * 2)


@pytest.fixture(scope="module")
def loop(fleet: Path) -> Iterator[apsw.Connection]:
    """The rows of all files in one table for each view, by a loop over the files."""
    with closing(apsw.Connection(":memory:")) as connection:
        register(connection)
        for view in VIEWS:
            for path in sorted(fleet.glob("*.db")):
                with engine.open(path, read_only=True) as db:
                    rows = db.sql(f"select * from {view}")
                    columns = [each["name"] for each in db.sql(f"select name from pragma_table_info('{view}')")]
                    connection.execute(f"create table if not exists {view} ({', '.join(['file', *columns])})")
                    marks = ", ".join("?" * (len(columns) + 1))
                    connection.executemany(
                        f"insert into {view} values ({marks})", [(str(path), *row.values()) for row in rows]
                    )
        yield connection


def same(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> None:
    def kept(rows: list[tuple[Any, ...]]) -> list[str]:
        return sorted(repr([round(float(v), 6) if isinstance(v, int | float) else v for v in row]) for row in rows)

    assert kept(left) == kept(right)


def numbers(view: str, alias: str) -> st.SearchStrategy[str]:
    columns = st.sampled_from(VIEWS[view][0]).map(lambda name: f"{alias}.{name}")
    one = st.one_of(columns, st.integers(-3, 300).map(str))
    return st.one_of(
        columns,
        st.tuples(one, st.sampled_from(["+", "-", "*", "/", "%"]), one).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        texts(view, alias).map(lambda text: f"length({text})"),
        columns.map(lambda each: f"coalesce({each}, 7)"),
        st.tuples(conditions(view, alias), one, one).map(lambda p: f"case when {p[0]} then {p[1]} else {p[2]} end"),
    )


def texts(view: str, alias: str) -> st.SearchStrategy[str]:
    columns = st.sampled_from(VIEWS[view][1]).map(lambda name: f"{alias}.{name}")
    return st.one_of(
        columns,
        columns.map(lambda each: f"upper(substr({each}, 2, 4))"),
        columns.map(lambda each: f"({each} || '-' || length({each}))"),
        columns.map(lambda each: f"date({each}, '+1 day')"),
    )


def conditions(view: str, alias: str) -> st.SearchStrategy[str]:
    number = st.sampled_from(VIEWS[view][0]).map(lambda name: f"{alias}.{name}")
    text = st.sampled_from(VIEWS[view][1]).map(lambda name: f"{alias}.{name}")
    simple = st.one_of(
        st.tuples(number, st.sampled_from(["=", "<>", "<", ">="]), st.integers(0, 300)).map(
            lambda p: f"{p[0]} {p[1]} {p[2]}"
        ),
        st.tuples(text, st.sampled_from(["A%", "%e%", "_", "%1%", ""])).map(lambda p: f"{p[0]} like '{p[1]}'"),
        text.map(lambda each: f"{each} is not null"),
        st.tuples(number, st.lists(st.integers(0, 500), min_size=1, max_size=3)).map(
            lambda p: f"{p[0]} in ({', '.join(map(str, p[1]))})"
        ),
        st.tuples(text, st.sampled_from(["a", "m", "2026"])).map(lambda p: f"{p[0]} between '{p[1]}' and 'z'"),
    )
    return st.one_of(
        simple,
        simple.map(lambda each: f"not ({each})"),
        st.tuples(simple, st.sampled_from(["and", "or"]), simple).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
    )


@st.composite
def queries(draw: st.DrawFn) -> str:
    view = draw(st.sampled_from(sorted(VIEWS)))
    number, text = numbers(view, "a"), texts(view, "a")
    where = draw(st.one_of(st.just(""), conditions(view, "a").map(lambda each: f" where {each}")))
    match draw(st.sampled_from(["rows", "groups", "join", "union", "with", "window"])):
        case "rows":
            distinct = draw(st.sampled_from(["", "distinct "]))
            return f"select {distinct}{draw(text)} as x, {draw(number)} as y from {view} a{where}"
        case "groups":
            by, what = draw(text), draw(number)
            having = draw(st.sampled_from(["", " having count(*) > 1", f" having max({what}) > 3"]))
            return (
                f"select {by} as x, count(*), sum({what}), avg({what}), min({draw(text)}), count(distinct {what}), "
                f"sum({what}) / count(*), total({what}) from {view} a{where} group by {by}{having}"
            )
        case "join":
            other = draw(st.sampled_from(sorted(VIEWS)))
            side = draw(st.sampled_from(["join", "left join"]))
            on = draw(st.one_of(st.just(""), conditions(other, "b").map(lambda each: f" and {each}")))
            return (
                f"select a.file, {draw(text)} as x, b.run, {draw(numbers(other, 'b'))} as y from {view} a "
                f"{side} {other} b on a.run = b.run and a.file = b.file{on}{where}"
            )
        case "union":
            kind = draw(st.sampled_from(["union", "union all", "except", "intersect"]))
            other = draw(st.sampled_from(sorted(VIEWS)))
            return (
                f"select {draw(text)} as x from {view} a{where} {kind} select {draw(texts(other, 'b'))} from {other} b"
            )
        case "with":
            return (
                f"with w as (select a.*, {draw(number)} as n from {view} a{where}) select w.run, max(w.n), "
                f"(select count(*) from run_overview o where o.run = w.run) as c from w group by w.run order by 1"
            )
    return (
        f"select a.run, row_number() over (partition by a.file order by a.run) as n from run_overview a{where}".replace(
            where, ""
        )
    )


@given(query=queries())
@examples(25)
def test_a_query_answers_as_a_loop_over_the_files(query: str, fleet: Path, loop: apsw.Connection) -> None:
    expected = loop.execute(query).fetchall()
    found = engine.analysis(fleet / "*.db").sql(query)
    same([tuple(row.values()) for row in found], expected)


def one(files: Path, query: str, bindings: Any = ()) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in engine.analysis(files).sql(query, bindings)]


def test_words_mean_what_they_mean_in_one_file(fleet: Path) -> None:
    assert one(
        fleet / "b.db", "select upper(run) as n, 7 / 2, turns / 4, run like 'B', typeof(turns) from run_overview"
    ) == [("B", 3, 0, 1, "integer")]
    assert one(fleet / "b.db", "select count(*) from run_overview where created_at > datetime('now', '-1 day')") == [
        (1,)
    ]
    assert one(
        fleet / "b.db", "select count(*), sum(turns) from run_overview where run = ? or run = ?", ("b", "x")
    ) == [(1, 2)]
    assert one(fleet / "b.db", "select run as r from run_overview where run = :who", {"who": "b"}) == [("b",)]
    assert list(engine.analysis(fleet / "b.db").sql("select count(*), max(turns) + 1 from run_overview")[0]) == [
        "count(*)",
        "max(turns) + 1",
    ]
    # nulls come first, as in SQLite
    assert one(fleet / "b.db", "select 1 as x union all select null order by 1") == [(None,), (1,)]
    # a row of nulls of an outer join is in no file
    left = (
        "select length(date(b.day, '+1 day')), b.day is null from run_overview a left join cost_by_day b on b.day = 'x'"
    )
    assert one(fleet / "b.db", left) == [(None, 1)]
    with pytest.raises(ValidationError, match="must appear in the GROUP BY"):
        one(fleet, "select run, max(turns) from run_overview")


def test_each_file_is_asked_for_what_is_needed_only(fleet: Path) -> None:
    from engine.across.planning import Plan

    (source,) = Plan("select file, lower(run) from run_overview where turns > 1 and run like 'a%' limit 3").sources
    assert set(source.wanted) == {"file", "_0"}
    assert len(source.filters) == 2
    # what an outer join leaves out is null, so its conditions are not those of one file
    left, right = Plan("select 1 from run_overview a left join run_log b on a.run = b.run where b.turn is null").sources
    assert (left.filters, right.filters) == ([], [])


def test_a_view_of_a_module_that_a_file_lacks_holds_nothing(fleet: Path) -> None:
    asked = engine.analysis(fleet)
    assert asked.sql("select count(*) as n from eval_scores") == [{"n": 0}]
    assert asked.left_out() == []


@pytest.mark.parametrize(
    "query",
    [
        "delete from runs",
        "pragma user_version = 3",
        "attach 'x.db' as x",
        "select 1; drop table runs",
        "select * from runs",
        "select * from run_overview, read_text('/etc/passwd')",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "copy run_overview to 'x.csv'",
        "insert into run_overview select * from run_overview",
        "select load_extension('x') from run_overview where load_extension(run) = 1",
        "",
        "selec 1",
        "select nothing from run_overview",
    ],
)
def test_a_statement_only_reads_views(query: str, fleet: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in fleet.glob("*.db")}
    asked = engine.analysis(fleet)
    with pytest.raises(EngineError) as refused:
        asked.sql(query)
    assert refused.value.status in (400, 403, 404)
    assert before == {path: path.read_bytes() for path in fleet.glob("*.db")}


def test_duckdb_reaches_nothing(fleet: Path, tmp_path: Path) -> None:
    """Functions of DuckDB that read files are refused by DuckDB itself, where a query names them beside groups."""
    (tmp_path / "secret.txt").write_text("secret")
    for words in (
        "getenv('HOME') || max(run)",
        f"(select content from read_text('{tmp_path}/secret.txt')) || max(run)",
    ):
        with pytest.raises(EngineError):
            one(fleet, f"select {words} as x from run_overview")


def test_files_that_cannot_be_read_are_reported_and_the_others_are(fleet: Path, tmp_path: Path) -> None:
    for name in ("b", "c", "d"):
        (tmp_path / f"{name}.db").write_bytes((fleet / f"{name}.db").read_bytes())
    (tmp_path / "text.db").write_text("no database " * 20)
    damaged = bytearray((fleet / "b.db").read_bytes())
    damaged[3 * 4096 :] = os.urandom(len(damaged) - 3 * 4096)
    (tmp_path / "damaged.db").write_bytes(damaged)
    short = (fleet / "b.db").read_bytes()[:50_000]
    (tmp_path / "short.db").write_bytes(short)
    with closing(apsw.Connection(str(tmp_path / "other.db"))) as other:
        other.execute("create table t (a)")
    newer = bytearray((fleet / "b.db").read_bytes())
    newer[60:64] = (99).to_bytes(4, "big")
    (tmp_path / "newer.db").write_bytes(newer)
    settle(tmp_path)
    asked = engine.analysis(tmp_path / "*.db")
    for _ in "12":
        assert [row["run"] for row in asked.sql("select run from run_overview order by run")] == ["b", "c"]
        states = {Path(each.file).stem: each.state for each in asked.files}
        assert {name for name, state in states.items() if state == "left out"} == {
            "text", "damaged", "short", "other", "newer",
        }  # fmt: skip
    reasons = {Path(each.file).stem: each.reason for each in asked.left_out()}
    assert "is not a database" in reasons["text"]
    assert "another application" in reasons["other"]
    assert "newer engine" in reasons["newer"] or "another version" in reasons["newer"]
    assert not list(tmp_path.glob("*-wal"))
    assert not list(tmp_path.glob("*-shm"))


def test_a_file_in_use_is_read_in_its_state_of_now(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        db.run("Hi", run="one", model=script(tmp_path, DONE))
        for expected in (["one"], ["one", "two"]):
            asked = db.analysis()
            assert [row["run"] for row in asked.sql("select run from run_overview order by run")] == expected
            assert asked.files[0].state == "in use"
            if expected == ["one"]:
                db.run("Hi", run="two", model=script(tmp_path, DONE))
        settle(tmp_path)  # its time says nothing while there is a log
        assert len(db.analysis(tmp_path).sql("select run from run_overview")) == 2
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as other:
        other.execute("pragma journal_mode = delete").fetchall()
        other.execute("pragma locking_mode = exclusive; begin exclusive").fetchall()
        asked = engine.analysis(tmp_path / "a.db")
        assert asked.sql("select run from run_overview") == []
        assert "locked by another process" in str(asked.left_out()[0].reason)


def test_both_ways_of_reading_give_the_same(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select file, run, turns, answer from run_overview order by file, run"
    fast = engine.analysis(fleet).sql(query)
    used = []
    real = still_file.StillConnection.exchange
    monkeypatch.setattr(
        still_file.StillConnection, "exchange", lambda self, path: used.append(path) or real(self, path)
    )
    assert engine.analysis(fleet).sql(query) == fast
    assert len(used) >= 3  # otherwise this compares one way with itself
    monkeypatch.setattr(reading, "still_state", lambda path: None)
    assert engine.analysis(fleet).sql(query) == fast


def test_a_file_that_is_written_while_it_is_read_is_read_again(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.db").write_bytes((fleet / "b.db").read_bytes())
    settle(tmp_path)
    real, done = reading._rows, []

    def written_meanwhile(*arguments: Any) -> Any:
        found = real(*arguments)
        if not done:
            done.append(1)
            with engine.open(tmp_path / "b.db", trust=True) as db:
                db.run("Again", run="new", model=script(tmp_path, DONE))
        return found

    monkeypatch.setattr(reading, "_rows", written_meanwhile)
    assert len(one(tmp_path / "b.db", "select run from run_overview")) == 2


def test_only_files_with_the_same_schema_share_a_connection(fleet: Path, tmp_path: Path) -> None:
    """A file with a module has other pages for its schema, and its tables lie elsewhere."""
    for name in ("b", "c"):
        (tmp_path / f"{name}.db").write_bytes((fleet / f"{name}.db").read_bytes())
    with engine.open(tmp_path / "c.db", trust=True) as db:
        db.install("evals")
    settle(tmp_path)
    with closing(still_file.StillConnection(str(tmp_path / "b.db"))) as still:
        assert still.exchange(str(tmp_path / "b.db"))
        assert not still.exchange(str(tmp_path / "c.db"))
    assert one(tmp_path, "select run from run_overview order by run") == [("b",), ("c",)]


def test_places_are_files_folders_and_patterns(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet)
    assert named_files(["*.db", "a.db", "."]) == [Path(f"{name}.db") for name in "abcd"]
    for nothing in (["x*.db"], ["none.db"], [tmp_path]):
        with pytest.raises(NotFound):
            named_files(nothing)


def test_it_ends_after_its_time(fleet: Path) -> None:
    many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000000) select sum(i) from n"
    with pytest.raises(EngineError) as slow:
        engine.analysis(fleet).sql(many, seconds=0.3)
    assert slow.value.status == 504


def test_without_duckdb_it_says_what_to_install(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EngineError, match=r"pyarrow is not installed; to install it: pip install 'engine\[export\]'"):
        engine.analysis(fleet).sql("select 1")


def test_the_command_prints_tables_json_csv_and_parquet(fleet: Path, tmp_path: Path) -> None:
    query = "select run, turns from run_overview where run in ('b', 'c') order by run"
    plain = cli(fleet, "fleet", "sql", query, "*.db")
    assert plain.stdout.splitlines() == ["run  turns", "b    2", "c    2"] or "b" in plain.stdout
    (tmp_path / "bad.db").write_text("x" * 200)
    told = cli(fleet, "fleet", "sql", query, "*.db", str(tmp_path / "bad.db"), "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["rows"] == [{"run": "b", "turns": 2}, {"run": "c", "turns": 2}]
    assert [each["state"] for each in json.loads(told.stdout)["files"]] == ["read"] * 4 + ["left out"]
    assert f"left out: {tmp_path}/bad.db: is not a database" in told.stderr
    rows = list(csv.DictReader(io.StringIO(cli(fleet, "fleet", "sql", query, ".", "--csv").stdout)))
    assert rows == [{"run": "b", "turns": "2"}, {"run": "c", "turns": "2"}]
    target = tmp_path / "x.parquet"
    assert cli(fleet, "fleet", "sql", query, ".", "--parquet", str(target)).returncode == 0
    assert pyarrow.parquet.read_table(target).to_pydict() == {"run": ["b", "c"], "turns": [2, 2]}
    assert "already exists" in cli(fleet, "fleet", "sql", query, ".", "--parquet", str(target)).stderr
    assert "the first 1 row of 2" in cli(fleet, "fleet", "sql", query, ".", "--limit", "1").stderr
    assert cli(fleet, "fleet", "sql", query, "none*.db").returncode == 2
