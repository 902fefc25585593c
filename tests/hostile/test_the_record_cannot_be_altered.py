"""The record is append-only: whoever writes to the file, what happened stays as it was.

The file of tests/every_run.py holds runs in every state. 1. Each table is guarded or known to hold no record. 2. No column
of a complete row changes, by any form of update, over the engine's connection or a stock one. 3. No row is deleted or
replaced. 4. Only the purge of a whole run removes rows. 5. The schema is not written to.

spec: @append_only
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from every_run import every_run
from fresh import take_in_all
from record_guards import FREE, RECORD, ROWID, Kept

import engine

Execute = Callable[[str], list[Any]]

COMPLETE = {
    "loops": "status not in (100, 102)",
    "turns": "phase = 'judged' and response is not null and {0} is not null",
    "turn_errors": "slug is not null",
    "model_calls": "state <> 'open'",
    "commands": "id in (select c.id from commands as c left join turns as t on t.id = c.turn_id "
    "where c.state in ('resolved', 'failed', 'cancelled') and coalesce(t.phase, 'judged') = 'judged')",
    "proposals": "state in ('resolved', 'failed', 'cancelled')",
    "effects": "state not in ('pending', 'started')",
    "resolutions": "created_at > 0",
    "file_modes": "began > 0",
    "entries": "scope like 'run:%' or since is not null",
}
"""Which rows are complete; `{0}` is the column. Where a table is missing, all are."""

UNKNOWN = {
    ("turns", "finish_reason"),
    ("turns", "entry_chars"),
    ("turns", "warnings"),
    ("turns", "prose"),
    ("turns", "lease"),
}
"""Columns that no complete turn of the file has a value in: the scripted model reports none, or they are emptied."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with runs in every state, as this build keeps it."""
    path = every_run().put(tmp_path_factory.mktemp("every"))
    with engine.open(path) as db:
        take_in_all(db)
        db.execute(
            "insert into jobs (effect_id, run_id, loop_id, identity, started_at, ended_at, state) "
            "select min(id), run_id, 1, '{}', 1, 2, 'resolved' from effects"
        )
        db.execute(
            "insert into process_cancels (effect_id, asked_by, created_at) select min(id), 'Ada', 1 from effects"
        )
        db.execute(
            "insert into vetoes (command_id, message) select min(id), 'no' from commands where turn_id is not null"
        )
        db.execute("insert into undone_edits select run_id, id, id from commands order by id limit 1")
        db.execute(
            "insert into rewinds select c.id, r.id, r.id, 1 from runs as r join commands as c order by 1 limit 1"
        )
        db.execute(
            "insert into children (run_id, parent_run_id, root_run_id, lineage, parent_loop_id, loop_id, effect_id) "
            "select min(id), 1, 1, '/1/', 1, 1, 1 from runs"
        )
        db.execute(
            "insert into acceptance_checks (run_id, loop_id, turn_id, attempt, kind, command_id, verdict, counts, reasons, "
            "started_at, ended_at) select run_id, loop_id, turn_id, 1, 'judge', id, 'fail', 'fail', 'no', 1, 2 "
            "from commands where turn_id is not null order by id limit 1"
        )
        steps = '[{"id": "a", "instruction": "i"}, {"id": "b", "instruction": "i", "needs": ["a"]}]'
        head = '"name": "w", "description": "d", "vars": {"x": {"default": "1"}}'
        db.insert("verb_write_workflow", syntax="jsonc", text=f'{{{head}, "steps": {steps}}}', source="w.json")
        db.execute("insert into workflow_runs (run_id, workflow_id, effect_id) select min(id), 1, 1 from runs")
        db.execute("insert into workflow_values select run_id, 'x', '1', 'given' from workflow_runs")
        db.execute(
            "insert into step_runs (run_id, step, layer, position, state, reason, child_run_id, started_at, ended_at) "
            "select run_id, 'a', 1, 1, 'failed', 'no', 1, 1, 1 from workflow_runs"
        )
        db.execute("insert into pictures (sha256, format, body) values ('00', 'PNG', x'89')")
        db.execute(
            "insert into turn_pictures (turn_id, entry_id, ordinal, path, sha256, line, tokens, chars, picture_id, fault) "
            "select min(t.id), min(e.id), 1, 'a.png', '00', 'PNG', 85, 170, 1, 'none' from turns as t join entries as e"
        )
        db.execute(
            "insert into rule_selections (loop_id, run_id, project_id, turn, prompts, context_left, rule_set_id, bracket, "
            "basis, devmode, room) select l.id, l.run_id, r.project_id, 1, 1, 100, 1, 'FRESH', 'prompts', 0, 99 "
            "from loops as l join runs as r on r.id = l.run_id where l.status = 200 limit 1"
        )
        db.execute(
            "insert into attachments (run_id, loop_id, entry_id, picture_id) "
            "select run_id, id, (select min(id) from entries), 1 from loops limit 1"
        )
        db.execute("insert into imported_calls select min(id), 'call_1' from commands")
        db.execute(
            "insert into handoffs select min(id), min(id), 'default', 'm', 'get', 'note', (select min(id) from commands), "
            "max(id) from loops"
        )
        db.execute(
            "insert into commits (command_id, run_id, loop_id, message, hash, reason, ended_at) "
            "select id, run_id, loop_id, 'm', 'abc', 'none', 2 from commands where loop_id is not null limit 1"
        )
        db.execute("insert into commit_edits select min(command_id), (select min(id) from commands) from commits")
        db.execute(
            "insert into hook_calls (run_id, loop_id, turn_id, command_id, point, hook, line, layer, source, verdict, "
            "reason, exit_code, started_at, ended_at) select run_id, loop_id, turn_id, id, 'end', 'h', 'l', 'user', 's', "
            "'allowed', 'r', 0, 1, 2 from commands where turn_id is not null limit 1"
        )
        db.execute("insert into rule_findings values (1, 1, 'matched', 'testing', '*.py', 'a.py', 1)")
        db.execute("insert into rule_lines select 1, 1, 'rule', 'testing', 1, 'text', min(id) from contents")
        db.execute("insert into _answer_hits select max(id), 'demo', 1, 0.9 from turns")
        db.execute("insert into tool_narrowings select id, 1, 3, null from loops where status = 200 limit 1")
        db.execute("insert into _tool_choices select loop_id, 'rm', 'found', 0.1, 'words' from tool_narrowings")
        db.execute("insert into file_modes select min(id), 9, 1, (select min(id) from commands) from entries")
        db.execute("pragma journal_mode = delete")
    return path


@pytest.fixture(scope="module", params=["engine", "recursive triggers off", "stock"])
def execute(request: pytest.FixtureRequest, path: Path) -> Iterator[Execute]:
    """Run a statement on the engine's connection, on one that asks no delete trigger on REPLACE, and on a stock one."""
    if request.param == "stock":
        with closing(sqlite3.connect(path, isolation_level=None)) as stock:
            yield lambda sql: stock.execute(sql).fetchall()
        return
    with engine.open(path) as db:
        if request.param != "engine":
            db.execute("pragma recursive_triggers = off")
        yield lambda sql: db.connection.execute(sql).fetchall()


def refused(execute: Execute, sql: str, table: str | None = None) -> None:
    """Run a statement in a transaction that is rolled back; it raises an error, or leaves `table` as it was."""
    execute("savepoint attack")
    try:
        execute(sql)
        changed = execute(f"select * from {table}") if table else None
        execute("rollback to attack")
        assert table, f"not refused: {sql}"
        assert execute(f"select * from {table}") == changed, f"not refused: {sql}"
    except (apsw.Error, sqlite3.Error, engine.EngineError):
        return
    finally:
        execute("rollback to attack")
        execute("release attack")


def columns(execute: Execute, table: str) -> dict[str, str]:
    """The columns of a table, each with its type."""
    return dict(execute(f"select name, type from pragma_table_info('{table}')"))


def test_each_table_is_guarded_or_known_to_be_free(path: Path) -> None:
    with engine.open(path) as db:
        found = {
            row["name"]
            for row in db.rows("select name from pragma_table_list where schema = 'main' and type <> 'view'")
        }
    found = {name for name in found if not name.startswith(("sqlite_", "content_search_", "text_search_", "app_"))}
    assert found == {kept.name for kept in RECORD} | set(FREE)
    assert not {kept.name for kept in RECORD} & set(FREE)


def test_the_guards_name_columns_that_there_are(path: Path) -> None:
    with engine.open(path) as db:
        for kept in RECORD:
            there = {row["name"] for row in db.rows(f"select name from pragma_table_info('{kept.name}')")}
            named = set(" ".join([kept.free, *(names for names, _ in kept.may)]).split())
            assert named <= there, kept.name


@pytest.mark.parametrize("kept", RECORD, ids=lambda kept: kept.name)
def test_no_column_of_a_complete_row_changes(execute: Execute, kept: Kept) -> None:
    found = columns(execute, kept.name)
    tried = [name for name in found if name not in kept.free.split()]
    if execute(f"select 1 from pragma_table_list('{kept.name}') where not wr"):
        found |= dict.fromkeys(ROWID, "INTEGER")
        tried += ROWID
    for name in tried:
        rows = COMPLETE.get(kept.name, "true").format(name)
        if (kept.name, name) in UNKNOWN:
            rows = "phase = 'judged' and response is not null" if name != "finish_reason" else "false"
        if not execute(f"select 1 from {kept.name} where {rows} limit 1"):
            assert (kept.name, name) in UNKNOWN, f"no row to try {kept.name}.{name} on"
            continue
        other = "'{\"other\":1}'" if found[name] == "TEXT" else "x'00'" if found[name] == "BLOB" else "123456789"
        for how in ("update", "update or replace", "update or ignore"):
            refused(execute, f"{how} {kept.name} set {name} = {other} where {rows}", kept.name)
        refused(execute, f"update {kept.name} set {name} = null where {rows}", kept.name)


@pytest.mark.parametrize("kept", [kept for kept in RECORD if kept.stays], ids=lambda kept: kept.name)
def test_no_row_is_deleted(execute: Execute, kept: Kept) -> None:
    refused(execute, f"delete from {kept.name}")
    refused(execute, f"with gone as (select 1) delete from {kept.name} where (select true from gone)")


@pytest.mark.parametrize("kept", RECORD, ids=lambda kept: kept.name)
def test_no_row_is_replaced(execute: Execute, kept: Kept) -> None:
    names = list(columns(execute, kept.name))
    without_id = ", ".join(name for name in names if name != "id")
    before = execute(f"select * from {kept.name}")
    for what, how in (("*", ""), (without_id, f" ({without_id})")):
        execute("savepoint attack")
        try:
            execute(f"insert or replace into {kept.name}{how} select {what} from {kept.name}")
        except (apsw.Error, sqlite3.Error, engine.EngineError):
            pass
        else:
            after = execute(f"select * from {kept.name}")
            assert after[: len(before)] == before or sorted(map(repr, after)) == sorted(map(repr, before))
        finally:
            execute("rollback to attack")
            execute("release attack")
    refused(
        execute,
        f"insert into {kept.name} select * from {kept.name} where true on conflict do update set {names[-1]} = null",
    )


def test_what_a_run_saw_is_kept_whatever_becomes_of_its_views(db: engine.Database) -> None:
    db.insert("verb_set", run="demo", path="run://demo", body="Do it")
    db.insert("_write_entry", run_id=1, path="known://a", body="old", writer="system")
    newest = "where since = (select max(id) from events)"
    assert db.value(f"select count(*) from run_views {newest}") == 1
    for statement in (
        f"update run_views set visibility = 'archived' {newest}",
        f"update run_views set content_id = null {newest}",
        f"update run_views set metadata_id = null, since = since - 1 {newest}",
        f"update or replace run_views set entry_id = 1 {newest}",
    ):
        with pytest.raises(engine.EngineError, match=r"^405 run_views"):
            db.execute(statement)
    db.execute(f"delete from run_views {newest}")
    gone = "select c.body from run_view_versions as v join contents as c on c.id = v.content_id"
    assert db.value(gone) == "old"


def test_another_active_loop_replaces_none(execute: Execute) -> None:
    refused(
        execute,
        "update or replace loops set status = 102 where status = 100 "
        "and run_id in (select run_id from loops where status = 102)",
    )


def test_an_open_turn_is_not_replaced(execute: Execute) -> None:
    refused(
        execute,
        "insert or replace into turns (run_id, loop_id, sequence, created_at) "
        "select run_id, loop_id, sequence + 1, 0 from turns where phase <> 'judged'",
    )


# -- 4. the purge


@pytest.mark.parametrize(
    "sql",
    [
        "delete from events where run_id = 1",
        "delete from turns where run_id = 1",
        "delete from commands where run_id = 1",
        "delete from packets where turn_id in (select id from turns where run_id = 1)",
        "delete from contents where id = 1",
        "delete from chunks",
        "update _purges set run_id = -1",
    ],
)
def test_a_purge_that_was_only_announced_removes_nothing(execute: Execute, sql: str) -> None:
    refused(execute, "delete from runs where id = 1")
    execute("savepoint announced")
    try:
        execute("insert into _purges (run_id) values (1)")
        refused(execute, sql)
    finally:
        execute("rollback to announced")
        execute("release announced")


def test_a_purge_is_of_a_run_that_is_there(execute: Execute) -> None:
    refused(execute, "insert into _purges (run_id) values (-1)")
    refused(execute, "insert into _purges (run_id) values (123456)")


# -- 5. the schema


@pytest.mark.parametrize(
    "sql",
    [
        "update sqlite_schema set sql = 'create trigger x after insert on runs begin select 1; end' where type = 'trigger'",
        "delete from sqlite_schema where name = 'turns__keep_rows'",
        "delete from content_search_docsize",
    ],
)
def test_the_schema_is_not_written_to(tmp_path: Path, sql: str) -> None:
    with engine.open(tmp_path / "t.db") as db:
        db.execute("pragma writable_schema = on")
        with pytest.raises((apsw.Error, engine.EngineError)):
            db.execute(sql)


def test_a_guard_that_was_dropped_is_back_at_the_next_opening(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    engine.open(path).close()
    with closing(sqlite3.connect(path)) as stock:
        stock.execute("drop trigger packets__keep_rows")
        stock.commit()
    with engine.open(path) as db:
        assert db.value("select count(*) from sqlite_schema where name = 'packets__keep_rows'") == 1


def test_a_refusal_of_a_guard_keeps_its_status(db: engine.Database) -> None:
    db.insert("verb_set", run="demo", path="run://demo", body="Do it")
    for statement in (
        "delete from loops",
        "update loops set prompt = 'x'",
        "insert or replace into loops select * from loops",
    ):
        with pytest.raises(engine.EngineError, match=r"^405 loops") as refusal:
            db.execute(statement)
        assert refusal.value.status == 405
