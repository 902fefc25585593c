"""Migrations: a file of an older version becomes what a fresh one is, with all its rows, or stays as it was.

The steps here are ones of a version that is to come, through the machinery that any will go: tables renamed, given columns
and rebuilt.

spec: @rebuild
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from driving import make_known
from next_version import NEXT, first_build, migrate, next_build, opened
from people import file_with_a_run
from test_open import write_with

import engine
from engine.schema.build import VERSION, Build
from engine.schema.objects import Object, normalized, objects_of
from engine.schema.update import build_of, inspect, prepare


@pytest.fixture(scope="module")
def old() -> Build:
    """The installed build with two tables more."""
    return first_build()


@pytest.fixture(scope="module")
def new() -> Build:
    """The build after it."""
    return next_build()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, old: Build) -> bytes:
    """A file of the older version, with rows in the tables that change."""
    found = file_with_a_run(tmp_path_factory.mktemp("made") / "t.db")
    with opened(found) as connection:
        prepare(connection, build=old)
        connection.execute("insert into shelves (id, name) values (1, 'oak'), (2, 'ash')")
        connection.execute("insert into notes (shelf_id, body) values (1, 'a'), (2, 'b')")
    return found.read_bytes()


@pytest.fixture
def path(tmp_path: Path, made: bytes) -> Path:
    """That file; it is the user's own."""
    (tmp_path / "t.db").write_bytes(made)
    return make_known(tmp_path / "t.db")


def stored(objects: list[Object]) -> set[tuple[str, str, str]]:
    return {(each.type, each.name, normalized(each.sql)) for each in objects}


def test_a_migrated_file_is_what_a_fresh_one_is(path: Path, new: Build) -> None:
    migrate(path, new)
    with opened(path) as connection:
        new = build_of(connection, new)
        assert stored(objects_of(connection)) == stored(list(new.fresh.objects))
        assert inspect(connection, new).is_current
        assert connection.execute("select body, title, weight from remark_list order by body").fetchall() == [
            ("a", "oak", 1),
            ("b", "ash", 1),
        ]
        assert connection.pragma("user_version") == NEXT
        assert connection.pragma("foreign_keys") == 1
        assert connection.execute("select value from engine_meta where key = 'sources'").get == new.hash
        assert connection.execute("select run from run_overview").fetchall() == [("demo",)]
        assert connection.execute("pragma integrity_check").get == "ok"
    before = path.read_bytes()
    migrate(path, new)
    assert path.read_bytes() == before


def test_the_tables_of_a_version_lead_to_those_of_the_next(new: Build) -> None:
    fresh = {each for each in stored(list(new.fresh.objects)) if each[0] in ("table", "index")}
    assert stored(new.migrated_tables(NEXT)) == fresh


def test_tables_of_plugins_are_left_to_their_plugins(tmp_path: Path, old: Build, new: Build) -> None:
    gadgets = "create table if not exists gadgets (id integer primary key, name text not null) strict;"
    plugin = ("gadgets.sql", f"{gadgets} create index if not exists idx_gadgets_name on gadgets (name);")
    before, after = (build._replace(plugins=(plugin,)) for build in (old, new))
    engine.open(tmp_path / "t.db").close()
    migrate(tmp_path / "t.db", before)
    with opened(tmp_path / "t.db") as connection:
        connection.execute("insert into gadgets (name) values ('lamp')")
    migrate(tmp_path / "t.db", after)
    with opened(tmp_path / "t.db") as connection:
        assert connection.execute("select name from gadgets").get == "lamp"
        assert inspect(connection, after).is_current
    later = after._replace(plugins=(("gadgets.sql", plugin[1].replace("not null)", "not null, price real)")),))
    with pytest.raises(engine.Conflict, match="its table gadgets lacks the column price of a plugin"):
        migrate(tmp_path / "t.db", later)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("alter table gadgets add column price real")
    migrate(tmp_path / "t.db", later)
    with opened(tmp_path / "t.db") as connection:
        assert connection.execute("select name, price from gadgets").fetchall() == [("lamp", None)]


def test_an_older_engine_refuses_the_migrated_file(path: Path, new: Build) -> None:
    migrate(path, new)
    with pytest.raises(engine.Conflict, match=f"newer engine \\(version {NEXT}"):
        engine.open(path)
    with engine.open(path, read_only=True) as db:
        assert db.value("select run from run_overview") == "demo"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("insert into shelves (id, name) values (3, 'oak')", "UNIQUE constraint failed"),
        ("insert into notes (shelf_id, body) values (9, 'lost')", "would refer to a missing row of shelves"),
    ],
)
def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, new: Build, change: str, said: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("drop trigger shelves__count")
        connection.execute(change)
        before = list(connection.iterdump())
    with pytest.raises((engine.Conflict, apsw.Error), match=said):
        migrate(path, new)
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before


def test_what_an_app_has_on_tables_of_its_own_survives_a_migration(path: Path, new: Build) -> None:
    apps = [
        "create table mine (shelf integer references shelves (id), text text)",
        "insert into mine values (1, 'x')",
        "create view my_runs as select run from run_overview",
        "create trigger mine__note after insert on mine begin update mine set text = 'y'; end",
        "create trigger my_runs__add instead of insert on my_runs begin insert into mine (text) values (new.run); end",
    ]
    write_with(path, *apps)
    migrate(path, new)
    with opened(path) as connection:
        connection.execute("insert into my_runs (run) values ('z')")
        assert connection.execute("select text from mine").fetchall() == [("y",), ("y",)]
        assert connection.execute("select sql from sqlite_schema where name = 'mine'").get.startswith(
            "CREATE TABLE mine"
        )
        with pytest.raises(apsw.ConstraintError):
            connection.execute("insert into mine (shelf) values (99)")


def test_a_trusted_trigger_is_put_back_where_its_table_still_is(path: Path, new: Build) -> None:
    write_with(path, "create trigger planted after insert on shelves begin select 1; end")
    with pytest.raises(engine.PermissionDenied, match="trigger 'planted' on 'shelves'"):
        migrate(path, new)
    migrate(path, new, trust=True)
    with opened(path) as connection:
        assert [each.name for each in inspect(connection, new).unknown] == ["planted"]


def test_a_trusted_trigger_whose_table_is_gone_is_told(path: Path, new: Build) -> None:
    write_with(path, "create trigger planted after insert on notes begin select 1; end")
    with pytest.raises(engine.Conflict, match="trigger 'planted' on 'notes' does not fit the tables of this version"):
        migrate(path, new, trust=True)
    with opened(path) as connection:
        assert connection.pragma("user_version") == VERSION


@pytest.mark.parametrize(
    "planted",
    [
        "create trigger planted after delete on shelves begin delete from events; end",
        "create trigger planted after insert on notes begin delete from events; end",
        "create index planted on notes (body) where body like '%a%'",
        "alter table notes add column more text constraint more check (length(more) < 9)",
    ],
)
def test_what_was_planted_in_an_older_file_is_found(path: Path, new: Build, planted: str) -> None:
    write_with(path, planted)
    with opened(path) as connection:
        events = connection.execute("select count(*) from events").get
        with pytest.raises(engine.PermissionDenied, match=r"(planted|table .notes.)"):
            prepare(connection, build=new)
        assert connection.execute("select count(*) from events").get == events
        assert connection.pragma("user_version") == VERSION


def test_a_driven_file_is_not_migrated(path: Path, new: Build) -> None:
    with opened(path) as connection:
        connection.execute("insert into _claim_lease (run, token, holder) values ('demo', 'mine', '{}')")
    with pytest.raises(engine.Conflict, match="another version of the engine works on a run"):
        migrate(path, new)


@pytest.mark.parametrize("version", range(1, VERSION))
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_from_before_the_first_release_is_refused_as_it_is(path: Path, version: int, read_only: bool) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("drop trigger loops__guard_transition")
        connection.execute("pragma journal_mode = delete")
        connection.execute(f"pragma user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(engine.Conflict, match=f"tables of version {version}, from before the first release"):
        engine.open(path, read_only=read_only)
    assert path.read_bytes() == before


def test_the_specification_tells_the_version() -> None:
    text = (Path(__file__).parents[2] / "SPEC.md").read_text()
    assert f"Its `user_version` counts the layouts of its\ntables; it is {VERSION}." in text
