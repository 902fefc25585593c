"""SQL, templates and oversized texts in every string that a model, an app or a person gives.

1. Each argument of each tool. 2. Each column of each door. 3. Each argument and option of the command line.

Each leaves the schema, the settings and the record of a run that is done as they were; nothing fails with an error that
nobody worded, and a text that is kept is kept as it was given.

spec: @threats @verb_contract
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as command
from fresh import fresh, stays_open, take_in_all

import engine
from engine.cli.main import command_line
from engine.errors import EngineError
from engine.models.protocol import Completion, Request, ToolCall

SQL = (
    "x'); drop table turns; select fail(500, 'ran'); --",
    "*' union select sql from sqlite_schema where '1' = \"1",
    "' || (select value from settings) || ?1 :a @b $c {{ 7 * 7 }} {% raw %} %s {0}",
    '"a" NEAR b* ) OR (-c:d ^ $.a"]\') , json_extract(1, \'$[',
)
LONG = "x' or \"1 " * 15_000
ARGUMENT = LONG[:100_000]
"""As long as the system lets one argument of a process be, or nearly."""
ENDS = {0, 1, 2, 3, 4, 5, 6, 7, 130}
"""The exit codes that engine/commands/SPEC.md names."""


def state(db: engine.Database) -> list[Any]:
    """What no string may change: all rules, all settings, and what the run `done` did."""
    return [
        db.rows("select type, name, sql from sqlite_schema where name not glob 'sqlite_*' order by name"),
        db.rows("select * from settings order by name"),
        db.rows("select * from command_policies where level = 'shipped' order by id"),
        db.rows("select * from run_log where run = 'done'"),
        db.rows("select response from turns where run_id = (select id from runs where alias = 'done')"),
    ]


def begun(db: engine.Database, folder: Path) -> list[Any]:
    """The state of a file in which a run is done."""
    db.run("Go", run="done", root=None, model=script(folder, f'<set path="known://a">b</set>{DONE}'))
    return state(db)


def arguments(db: engine.Database) -> Iterator[tuple[str, str]]:
    """Each tool with each of its arguments."""
    for row in db.rows("select name, schema from tools order by ordinal"):
        yield from ((row["name"], argument) for argument in json.loads(row["schema"])["properties"])


GIVEN = {"path": "known://b", "to": "known://c", "body": "text", "status": 102, "question": "which?"}
"""What the other arguments of a call are."""


class Caller:
    """A model that makes one call a turn."""

    name = "caller"

    def __init__(self, calls: list[ToolCall]) -> None:
        self._calls = calls

    def complete(self, request: Request, on_delta: object = None, cancelled: object = None) -> Completion:
        if request.position == len(self._calls):
            return Completion(DONE)
        return Completion(GO_ON, calls=(self._calls[request.position],), native=True)


def test_no_argument_of_a_tool_is_read_as_sql(tmp_path: Path) -> None:
    with fresh() as db:
        db.execute(
            "update settings set value = '1000000' where name in ('max_loop_turns', 'max_strikes', 'min_cycles')"
        )
        before = begun(db, tmp_path)
        tools = list(arguments(db))
        assert len(tools) > 25
        calls = [
            ToolCall(tool, {**given(db, tool), argument: text})
            for tool, argument in tools
            for text in (*SQL, LONG[:30_000])
        ]
        result = db.run(
            "Go", run="r", root=tmp_path, model=Caller(calls), no_processes=True, on_proposal=lambda _: "an answer"
        )
        assert (result.status, result.turns) == (200, len(calls) + 1)
        assert state(db) == before
        kept = [row["body"] for row in db.rows("select body from commands where action = 'think' order by id")]
        assert kept == [*SQL, LONG[:30_000]]
        assert db.rows("select * from run_log where outcome = 'error'") == []


def given(db: engine.Database, tool: str) -> dict[str, Any]:
    """The arguments that a call of a tool needs."""
    schema = json.loads(db.value("select schema from tools where name = ?", (tool,)))
    return {name: value for name, value in GIVEN.items() if name in schema.get("required", ())}


DOORS = """
select name from sqlite_schema as v
where type = 'view' and exists (
    select 1 from sqlite_schema as t
    where t.type = 'trigger' and t.tbl_name = v.name and lower(t.sql) like '%instead of insert%'
)
"""


def test_no_column_of_a_door_is_read_as_sql(tmp_path: Path) -> None:
    with fresh() as db:
        before = begun(db, tmp_path)
        columns = [
            (row["name"], column["name"])
            for row in db.rows(DOORS)
            for column in db.rows("select name from pragma_table_info(?)", (row["name"],))
        ]
        assert len(columns) > 200
        broken: list[object] = []
        for door, column in columns:
            for text in (*SQL, LONG):
                row = {"run": "done", "path": "known://b", "body": "text", column: text}
                named = {name: value for name, value in row.items() if (door, name) in columns}
                names = ", ".join(f'"{name}"' for name in named)
                values = ", ".join(f":{name}" for name in named)
                db.execute("savepoint attack")
                try:
                    db.execute(f"insert into {door} ({names}) values ({values})", named)
                except EngineError as error:
                    broken += [(door, column, text[:99], error.message)] if error.status >= 500 else []
                finally:
                    db.execute("rollback to attack")
                    db.execute("release attack")
        assert broken == []
        assert state(db) == before


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command of the command line, with the words that call it."""
    for word in group.list_commands(None):
        each = group.get_command(None, word)
        if hasattr(each, "list_commands"):
            yield from commands(each, (*words, word))
        else:
            yield (*words, word), each


def lines(text: str, taken: int) -> Iterator[tuple[str, ...]]:
    """Each command of the command line with `text` as each of its arguments and options; a port that is taken."""
    # a server that cannot listen ends
    ends = {("serve", "rpc"): ["--host=256.0.0.1"], ("web",): [f"--port={taken}", "--no-browser"]}
    for words, each in commands(command_line()):
        nowhere = ends.get(words, [])
        needed = [param for param in each.params if param.param_type_name == "argument" and param.required]
        plain = ["other"] * len(needed)
        for param in each.params:
            if param.param_type_name == "argument":
                told = [text if other is param else "other" for other in needed] if param in needed else [*plain, text]
                # without a name the latest run would leave the file
                yield (*words, *nowhere, "--", *(["other"] if words == ("runs", "move") else []), *told)
            elif not param.is_flag and not param.hidden and (*words, param.name) != ("serve", "rpc", "socket"):
                yield (*words, *nowhere, f"{param.opts[-1]}={text}", "--", *plain)


def test_no_word_of_a_command_line_is_read_as_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root := tmp_path / "root").mkdir()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with engine.open(root / "t.db") as db:
        take_in_all(db)
        db.run("Go", run="other", root=root, model=script(tmp_path, DONE))
        before = begun(db, tmp_path)
    with stays_open(root / "t.db"):
        for text in (SQL[0] + SQL[3], ARGUMENT):
            check_lines(root, text)
            with engine.open(root / "t.db", read_only=True) as db:
                assert state(db) == before


def check_lines(root: Path, text: str) -> None:
    """Run each command line with `text`, none of which ends in a way that nobody worded."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        called = list(lines(text, server.getsockname()[1]))
        assert len(called) > 90
        for line in called:
            place = line.index("--")
            where = [] if text in "".join(line[:place]) and "--db=" in "".join(line) else ["--db=t.db"]
            done = command(root, *line[:place], *where, *line[place:])
            assert done.returncode in ENDS, (line[:3], done.returncode, done.stderr[-300:])
            assert "Traceback" not in done.stderr, line[:3]
