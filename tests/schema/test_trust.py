"""Objects of others on the engine's tables: looking is allowed, writing only where they are trusted.

spec: @trust
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from golden import schema_dump
from people import file_with_a_run
from test_open import write_with

import engine
from engine.errors import PermissionDenied, ValidationError

# What stands on the engine's tables or views, and by which name an error tells of it.
PLANTED = {
    "trigger 'planted' on 'turns'": ["create trigger planted after update on turns begin delete from events; end"],
    "trigger 'planted' on 'TURNS'": ["create trigger planted after insert on TURNS begin select 1; end"],
    "trigger 'planted' on 'run_overview'": [
        "create trigger planted instead of insert on run_overview begin delete from events; end"
    ],
    "index 'partial' on 'commands'": ["create index partial on commands (body) where body like '%a%b%'"],
    "index 'computed' on 'entries'": ["create index computed on entries (lower(path))"],
    "index 'only_one' on 'runs'": ["create unique index only_one on runs (model)"],
    "table 'settings'": ["alter table settings add column more text constraint more check (length(more) < 9)"],
    "trigger 'planted' on 'mine'": [
        "create table mine (entry integer references entries (id) on delete cascade)",
        "create trigger planted after delete on mine begin delete from events; end",
    ],
    "trigger 'planted' on 'mine_too'": [
        "create table mine (id integer primary key references runs (id) on update cascade)",
        "create table mine_too (mine integer references mine (id) on update cascade)",
        "create trigger planted after update on mine_too begin delete from events; end",
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a run."""
    return file_with_a_run(tmp_path / "t.db")


@pytest.mark.parametrize("said", PLANTED)
def test_what_stands_on_the_engines_tables_has_to_be_trusted(path: Path, said: str) -> None:
    write_with(path, *PLANTED[said])
    before = path.read_bytes()
    with pytest.raises(PermissionDenied) as caught:
        engine.open(path)
    assert str(caught.value).startswith(
        f"403 {path}: holds what neither this engine nor an installed plugin made: {said};"
    )
    with closing(apsw.Connection(":memory:")) as connection, pytest.raises(PermissionDenied):
        engine.attach(connection, path)
    with engine.open(path, read_only=True) as db:
        assert db.value("select run from run_overview") == "demo"
        assert [str(each) for each in db.unknown] == [said]
        digest = db.unknown_digest
    assert path.read_bytes() == before
    for trust in (True, digest):
        with engine.open(path, trust=trust) as db:
            db.insert("verb_set", run="demo", path="known://b", body="x")
    with pytest.raises(PermissionDenied):
        engine.open(path, trust="0" * 64)


def test_trust_in_some_objects_is_none_in_others(path: Path) -> None:
    write_with(path, "create trigger planted after update on turns begin select 1; end")
    with engine.open(path, read_only=True) as db:
        digest = db.unknown_digest
    write_with(path, "drop trigger planted", "create trigger planted after update on turns begin select 2; end")
    with pytest.raises(PermissionDenied):
        engine.open(path, trust=digest)


@pytest.mark.parametrize(
    "change",
    [
        [
            "drop trigger turns__guard",
            "create trigger turns__guard after insert on turns begin delete from events; end",
        ],
        ["drop view run_overview", "create view run_overview as select 1 as run"],
        ["drop view _next_steps", "create table _next_steps (run)"],
        [
            "drop table leases",
            "create view leases as with recursive a(n) as (select 1 union all select n from a) select * from a",
        ],
    ],
)
def test_what_bears_a_name_of_the_engines_is_made_anew_or_refused_but_never_run(path: Path, change: list[str]) -> None:
    whole = schema_dump(path)
    trigger = "select name from sqlite_schema where type = 'trigger' and tbl_name = 'turns' limit 1"
    with closing(sqlite3.connect(path)) as connection:
        (name,) = connection.execute(trigger).fetchone()
    write_with(path, "pragma foreign_keys = off", *(text.replace("turns__guard", name) for text in change))
    with engine.open(path, read_only=True) as db:
        assert db.value("select count(*) from events") > 0
    if "table _next_steps" in change[1]:
        with pytest.raises(PermissionDenied, match="table '_next_steps'"):
            engine.open(path)
        return
    with engine.open(path) as db:
        assert db.value("select count(*) from events") > 0
    if "leases" not in change[1]:
        assert schema_dump(path) == whole


def test_what_claims_to_be_of_another_build_is_taken_away_unexecuted(path: Path) -> None:
    write_with(
        path,
        "create trigger planted after delete on engine_objects begin delete from contents; end",
        "create trigger planted_too after insert on personas begin delete from contents; end",
        "insert into engine_objects (type, name) values ('trigger', 'planted'), ('trigger', 'planted_too')",
        "update engine_meta set value = 'another' where key = 'sources'",
    )
    with engine.open(path) as db:
        assert db.value("select count(*) from contents") > 0
        assert db.value("select count(*) from sqlite_schema where name glob 'planted*'") == 0


def test_a_claim_to_be_of_this_build_counts_for_nothing(path: Path) -> None:
    write_with(
        path,
        "create trigger planted after update on turns begin delete from events; end",
        "insert into engine_objects (type, name) values ('trigger', 'planted')",
    )
    with engine.open(path) as db:
        assert db.value("select count(*) from sqlite_schema where name = 'planted'") == 0


def test_what_is_trusted_survives_a_rebuild(path: Path) -> None:
    planted = [
        "create trigger planted after insert on turns begin select 1; end",
        "create trigger planted_too instead of delete on run_overview begin select 1; end",
        "create index planted_index on commands (body)",
        "update engine_meta set value = 'another' where key = 'sources'",
    ]
    write_with(path, *planted)
    with engine.open(path, trust=True) as db:
        assert db.value("select count(*) from sqlite_schema where name glob 'planted*'") == 3


def test_an_app_on_tables_of_its_own_needs_no_trust(path: Path) -> None:
    write_with(
        path,
        "create table mine (run text, turn integer references turns (id))",
        "create trigger mine__note after insert on mine begin update mine set run = 'x'; end",
        "create view my_runs as select run from run_overview",
        "create trigger my_runs__add instead of insert on my_runs begin insert into mine (run) values (new.run); end",
        "create index my_index on mine (run)",
    )
    with engine.open(path) as db:
        db.execute("insert into my_runs (run) values ('a')")
        assert db.value("select run from mine") == "x"
    with engine.open(path, read_only=True) as db:
        assert (db.unknown, db.differs) == ((), None)


@pytest.mark.parametrize("of", ["turns (created_at, status)", "TURNS (response collate nocase desc)"])
def test_an_index_of_columns_alone_cannot_act_and_needs_no_trust(path: Path, of: str) -> None:
    write_with(path, f"create index planted on {of}")
    with engine.open(path, read_only=True) as db:
        assert (db.unknown, db.differs) == ((), None)
    with engine.open(path) as db:
        db.insert("verb_set", run="demo", path="known://b", body="x")
    write_with(path, "update engine_meta set value = 'another' where key = 'sources'")
    with engine.open(path) as db:
        assert db.value("select count(*) from sqlite_schema where name = 'planted'") == 1


def test_an_index_with_an_expression_calls_functions_and_makes_writes_fail(path: Path) -> None:
    constraint = "insert into file_constraints (project_id, pattern, rule, created_at) values (1, 'a.py', 'add', 0)"
    with engine.open(path) as db:
        db.execute("create index calls on file_constraints (pattern_error(pattern))")
        db.execute("create index fails on file_constraints (json_extract(pattern, '$'))")
        with pytest.raises(ValidationError, match="malformed JSON"):
            db.execute(constraint)
    with pytest.raises(PermissionDenied, match="index 'calls' on 'file_constraints', index 'fails'"):
        engine.open(path)


def test_a_second_statement_hidden_in_the_schema_is_never_run(tmp_path: Path, path: Path) -> None:
    made = tmp_path / "made.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("create view mine as select 1")
        connection.execute("create trigger planted instead of insert on run_overview begin select 1; end")
        connection.execute("pragma writable_schema = on")
        connection.execute(
            "update sqlite_schema set sql = sql || ? where name in ('mine', 'planted', 'run_overview')",
            (f"; attach '{made}' as p; create table p.t (a)",),
        )
        connection.execute("update engine_meta set value = 'another' where key = 'sources'")
    with pytest.raises(engine.EngineError):
        engine.open(path, trust=True)
    assert not made.exists()
