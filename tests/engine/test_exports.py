"""Exports of views: what other programs read is what the file says.

1. Every view of runs of every kind, value by value, in all three forms. 2. Types and descriptions. 3. Hostile values and
names. 4. One state, while another process writes. 5. Nothing or all: targets that exist, no DuckDB, an error in the middle.

spec: @export
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from driving import DONE, script
from engine_cli import engine as cli
from every_run import every_run

import engine
from engine.db.view_list import views
from engine.errors import Conflict, EngineError, NotFound, ValidationError
from engine.exports import tables
from engine.exports.export import export_views

BY_THE_CLOCK = {"idle_runs"}
"""Views that tell how long ago something was."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return every_run().put(tmp_path)


def plain(value: Any) -> Any:
    """A value of DuckDB as SQLite has it."""
    match value:
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
        case date():
            return value.isoformat()
    return value


def kept(rows: list[tuple[Any, ...]]) -> list[str]:
    """The rows in an order of their own; a number in a column of mixed kinds is a text in DuckDB."""
    return sorted(repr(tuple(map(number, row))) for row in rows)


def number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_every_view_is_what_the_file_says(file: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    with engine.open(file, read_only=True) as db:
        counts = export_views(db, form, target)
        assert len(counts) > 40
        assert counts.keys() & {"app_runs", *tables.LEFT_OUT} == set()
        with duckdb.connect(str(target) if form == "duckdb" else ":memory:") as connection:
            for name, count in ((each, counts[each]) for each in counts.keys() - BY_THE_CLOCK):
                source = name if form == "duckdb" else f"'{target}/{name}.parquet'"
                found = [tuple(map(plain, row)) for row in connection.execute(f"select * from {source}").fetchall()]
                assert len(found) == count
                assert kept(found) == kept(db.tuples(f"select * from {name}")), name
    assert list(tmp_path.glob(".engine-export-*")) == []


def test_csv_tells_an_empty_text_from_null(file: Path, tmp_path: Path) -> None:
    with engine.open(file, read_only=True) as db:
        counts = export_views(db, "csv", tmp_path / "out")
        for name in counts.keys() - BY_THE_CLOCK:
            with (tmp_path / "out" / f"{name}.csv").open(newline="") as lines:
                head, *found = csv.reader(lines)
            said = [
                tuple("" if each is None else str(each) for each in row) for row in db.tuples(f"select * from {name}")
            ]
            assert sorted(map(tuple, found)) == sorted(said), name
            assert head == [row["name"] for row in db.rows(f"select name from pragma_table_info('{name}')")]
    log = (tmp_path / "out" / "run_log.csv").read_text()
    assert ',"",' in log
    assert ",," in log
    told = json.loads((tmp_path / "out" / "csv-metadata.json").read_text())
    assert [each["url"] for each in told["tables"]] == [f"{name}.csv" for name in counts]


def test_columns_have_types_and_descriptions(file: Path, tmp_path: Path) -> None:
    with engine.open(file, read_only=True) as db:
        export_views(db, "parquet", tmp_path / "p", ["run_overview", "cost_by_day", "open_work"])
        export_views(db, "duckdb", tmp_path / "d.duckdb", ["run_overview"])
        promise = {view.name: view.text for view in views(db)}["run_overview"]
    with duckdb.connect() as connection:
        types = {
            name: kind
            for name, kind, *_ in connection.execute(f"describe select * from '{tmp_path}/p/*_*.parquet'").fetchall()
        }
        day = connection.execute(f"describe select day, cost, calls from '{tmp_path}/p/cost_by_day.parquet'").fetchall()
        metadata = dict(
            connection.execute(
                f"select key, value from parquet_kv_metadata('{tmp_path}/p/run_overview.parquet')"
            ).fetchall()
        )
    assert [row[1] for row in day] == ["DATE", "DOUBLE", "BIGINT"]
    assert types != {}
    assert metadata[b"description"].decode() == promise
    about = "'parent' is the run that it was forked from or that gave it work;"
    assert json.loads(metadata[b"columns"])["parent"] == about
    with duckdb.connect(str(tmp_path / "d.duckdb"), read_only=True) as connection:
        found = connection.execute(
            "select column_name, data_type, comment from duckdb_columns() where not internal"
        ).fetchall()
        comment = connection.execute("select comment from duckdb_tables()").fetchone()
    told = {name: (kind, text) for name, kind, text in found}
    assert told["parent"] == ("VARCHAR", about)
    assert told["created_at"][0] == "TIMESTAMP"
    assert told["turns"][0] == "BIGINT"
    assert comment == (promise,)


VALUES = ["'it''s'", '"', "a,b\r\nc", "\x1b[2J\u2028\u202e", "=1+1", "", "{}", "\\", "x" * 3_000_000]


def test_hostile_values_are_values(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        db.execute(
            'create table odd (id integer primary key, value any, made_at text, mixed any, many any, "q\'""x" text)'
        )
        for value in VALUES:
            db.execute('insert into odd (value, made_at, mixed, many, "q\'""x") values (?, ?, ?, ?, ?)', (value,) * 5)
        db.execute("insert into odd (value, mixed, many) values ('', x'00ff', 9e999)")
        db.execute("create view odd_ones as select * from odd")
        db.execute("create view bytes as select x'00ff' as b union all select null")
        export_views(db, "duckdb", tmp_path / "d", ["odd_ones", "bytes"])
        export_views(db, "csv", tmp_path / "c", ["odd_ones"])
    with duckdb.connect(str(tmp_path / "d")) as connection:
        assert [row[0] for row in connection.execute("select value from odd_ones order by id").fetchall()] == [
            *VALUES,
            "",
        ]
        assert connection.execute("select mixed, many from odd_ones order by id desc").fetchone() == ("00ff", "inf")
        assert connection.execute("select * from bytes").fetchall() == [(b"\x00\xff",), (None,)]
    csv.field_size_limit(sys.maxsize)
    with (tmp_path / "c" / "odd_ones.csv").open(newline="") as lines:
        assert [row["value"] for row in csv.DictReader(lines)] == [*VALUES, ""]


def test_a_view_whose_name_is_a_path_is_refused(db: engine.Database, tmp_path: Path) -> None:
    db.execute('create view "../../x" as select 1 as a')
    db.execute("create table mine (a)")
    assert "../../x" not in export_views(db, "csv", tmp_path / "all")
    with pytest.raises(ValidationError, match="cannot name a file"):
        export_views(db, "csv", tmp_path / "out", ["../../x"])
    for name in ("nothing", "mine", "_acts", "verb_set", 'x" union select 1 --'):
        with pytest.raises(NotFound, match="there is no such view"):
            export_views(db, "csv", tmp_path / "out", [name])
    assert not (tmp_path / "out").exists()
    db.execute('drop view "../../x"')
    db.execute("drop table mine")


def test_a_view_that_cannot_be_read_is_named(db: engine.Database, tmp_path: Path) -> None:
    db.execute("create view wrong as select cast(x'ff' as text) as a")
    db.execute("create view gone as select * from nowhere")
    with pytest.raises(ValidationError, match="view 'wrong': a value is text that is not UTF-8"):
        export_views(db, "csv", tmp_path / "out", ["wrong"])
    with pytest.raises(ValidationError, match=r"view .gone.: no such table: main\.nowhere"):
        export_views(db, "duckdb", tmp_path / "out", ["gone"])
    assert not (tmp_path / "out").exists()
    for name in ("wrong", "gone"):
        db.execute(f"drop view {name}")


def test_all_rows_are_of_one_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.open(tmp_path / "t.db") as writer:
        model = script(tmp_path, *[DONE] * 3)
        writer.run("one", run="demo", model=model)
        whole = tables.rows

        def interrupted(db: Any, of: tables.Exported) -> Any:
            if of.name == "loop_results":
                writer.run("two", run="demo")
            return whole(db, of)

        monkeypatch.setattr("engine.exports.csv_folder.rows", interrupted)
        with engine.open(tmp_path / "t.db", read_only=True) as db:
            counts = export_views(db, "csv", tmp_path / "out", ["loop_list", "loop_results"])
            assert counts == {"loop_list": 1, "loop_results": 1}
            assert db.value("select count(*) from loop_list") == 2


def test_nothing_is_left_where_it_fails(db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "none")
    for name in ("there", "link"):
        with pytest.raises(Conflict, match="already exists"):
            export_views(db, "csv", tmp_path / name)
    with pytest.raises(NotFound, match="cannot be written"):
        export_views(db, "csv", tmp_path / "none" / "out")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EngineError, match=r"DuckDB is not installed; to install it: pip install 'engine\[export\]'"):
        export_views(db, "parquet", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("t.db")) == ["link", "there"]


def test_what_a_killed_export_has_left_is_removed_by_the_next(db: engine.Database, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom engine.exports.making import making\n"
        "with making(Path(sys.argv[1])) as place:\n (place / 'made').mkdir()\n print(place, flush=True)\n sys.stdin.read()\n"
    )
    places, makers = [], []
    for _ in range(2):
        maker = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert maker.stdout
        places.append(Path(maker.stdout.readline().strip()))
        makers.append(maker)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("mine")
    (tmp_path / ".engine-export-link").symlink_to(tmp_path / "mine")
    makers[0].kill()
    makers[0].communicate()
    export_views(db, "csv", tmp_path / "out", ["run_overview"])
    assert [place.is_dir() for place in places] == [False, True]
    assert (tmp_path / "mine" / "text").read_text() == "mine"
    makers[1].communicate("")
    assert not places[1].exists()


def test_the_command_writes_one_form(file: Path, tmp_path: Path) -> None:
    option = ["--db", str(file)]
    done = cli(tmp_path, "export", "--csv", "out", "--view", "run_overview", *option)
    assert done.stdout == "out: 1 view with 29 rows written\n"
    told = json.loads(cli(tmp_path, "export", "--duckdb", "x.duckdb", "--json", *option).stdout)
    assert told["rows"]["run_overview"] == 29
    for wrong in ([], ["--csv", "a", "--parquet", "b"]):
        assert (
            "give --parquet FOLDER, --csv FOLDER, --duckdb FILE or --datasette FILE"
            in cli(tmp_path, "export", *wrong, *option).stderr
        )
