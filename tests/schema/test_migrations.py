"""Migrations: a file of an older version becomes what a fresh one is, with all its rows, or stays as it was.

The steps here are ones of a version that is to come, through the machinery that any will go: tables renamed, given columns
and rebuilt.

spec: @rebuild
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from driving import make_known
from people import file_with_a_run
from test_open import write_with

import engine
from engine.db.registration import register
from engine.schema.build import VERSION, Build, installed
from engine.schema.objects import Object, normalized, objects_of
from engine.schema.update import inspect, prepare

NEXT = VERSION + 1
"""A file of version 1: `demo` waits for a decision, `answered` ended after two turns, `fork_of_it` is its fork."""
# A table renamed, one given a column, one rebuilt that others refer to and that has rows.
STEPS = """
alter table notes rename to remarks;
alter table remarks add column weight integer not null default 1 constraint remarks_weight check (weight > 0);
pragma legacy_alter_table = on;
create table new_shelves (
    id integer primary key,
    title text not null constraint shelves_title_unique unique
) strict;
insert into new_shelves (id, title) select id, name from shelves;
drop table shelves;
alter table new_shelves rename to shelves;
pragma legacy_alter_table = off;
create index idx_shelves_title on shelves (title);
"""
OLD = (
    "300_shelves.sql",
    """
create table if not exists shelves (
    id integer primary key,
    name text not null
) strict;
create table if not exists notes (
    id integer primary key,
    shelf_id integer not null constraint notes_shelf references shelves (id) on delete cascade, -- where it stands
    body text
) strict;
create view note_list as select n.body, s.name from notes as n join shelves as s on s.id = n.shelf_id;
create view notes_door as select body from notes;
create trigger notes_door__write instead of insert on notes_door begin
    insert into notes (shelf_id, body) values (1, new.body);
end;
create trigger notes__guard before delete on notes begin select fail(409, 'notes stay'); end;
create trigger shelves__guard before delete on shelves begin select fail(409, 'shelves stay'); end;
create trigger shelves__count after insert on shelves begin update notes set body = 'spoilt'; end;
""",
)
NEW = (
    "300_shelves.sql",
    """
create table if not exists shelves (
    id integer primary key,
    -- what is written on it
    title text not null constraint shelves_title_unique unique
) strict;
create table if not exists remarks (
    id integer primary key,
    shelf_id integer not null constraint notes_shelf references shelves (id) on delete cascade,
    body text,
    weight integer not null default 1 constraint remarks_weight check (weight > 0)
) strict;
create index if not exists idx_shelves_title on shelves (title);
create view remark_list as select r.body, s.title, r.weight from remarks as r join shelves as s on s.id = r.shelf_id;
create trigger remarks__guard before delete on remarks begin select fail(409, 'remarks stay'); end;
""",
)


def tables(text: str) -> str:
    """The tables of an SQL file, without its views and triggers."""
    return text[: text.index("create view")]


@pytest.fixture(scope="module")
def old() -> Build:
    """The installed build with two tables more."""
    build = installed()
    first = [(number, text + tables(OLD[1]) if number == VERSION else text) for number, text in build.migrations]
    return replace(build, sources=(*build.sources, OLD), migrations=tuple(first))


@pytest.fixture(scope="module")
def new(old: Build) -> Build:
    """The build after it."""
    return replace(
        old,
        version=NEXT,
        sources=(*old.sources[:-1], NEW),
        migrations=(*(step for step in old.migrations if step[0] < NEXT), (NEXT, STEPS)),
    )


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(path))) as connection:
        register(connection)
        yield connection


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


def migrate(path: Path, build: Build, **options: bool) -> None:
    with opened(path) as connection:
        prepare(connection, build=build, **options)


def test_a_migrated_file_is_what_a_fresh_one_is(path: Path, new: Build) -> None:
    migrate(path, new)
    with opened(path) as connection:
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


def test_the_installed_migrations_lead_to_what_a_fresh_file_has() -> None:
    build = installed()
    fresh = {each for each in stored(list(build.fresh.objects)) if each[0] in ("table", "index")}
    assert stored(build.migrated_tables(build.version)) == fresh


def test_tables_of_plugins_are_left_to_their_plugins(tmp_path: Path, old: Build, new: Build) -> None:
    gadgets = "create table if not exists gadgets (id integer primary key, name text not null) strict;"
    plugin = ("gadgets.sql", f"{gadgets} create index if not exists idx_gadgets_name on gadgets (name);")
    before, after = (replace(build, plugins=(plugin,)) for build in (old, new))
    engine.open(tmp_path / "t.db").close()
    migrate(tmp_path / "t.db", before)
    with opened(tmp_path / "t.db") as connection:
        connection.execute("insert into gadgets (name) values ('lamp')")
    migrate(tmp_path / "t.db", after)
    with opened(tmp_path / "t.db") as connection:
        assert connection.execute("select name from gadgets").get == "lamp"
        assert inspect(connection, after).is_current
    later = replace(after, plugins=(("gadgets.sql", plugin[1].replace("not null)", "not null, price real)")),))
    with pytest.raises(engine.Conflict, match="its table gadgets lacks the column price that a plugin makes now"):
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
        ("insert into notes (shelf_id, body) values (9, 'lost')", "would name no row of shelves"),
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
    with pytest.raises(engine.Conflict, match="trigger 'planted' on 'notes' does not fit the tables of this build"):
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
        connection.execute("insert into claim_lease (run, token, holder) values ('demo', 'mine', '{}')")
    with pytest.raises(engine.Conflict, match="is being driven by another version"):
        migrate(path, new)


def test_the_specification_tells_the_version_and_each_migration() -> None:
    text = (Path(__file__).parents[2] / "SPEC.md").read_text()
    assert f"Its `user_version` counts the layouts of its\ntables; it is {VERSION}." in text
    for path in sorted(Path(__file__).parents[2].glob("sql/migrations/*.sql")):
        assert f"`{path.name}`" in text
