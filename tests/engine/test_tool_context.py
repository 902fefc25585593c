"""Tools that know the call that they work for, and write the app's tables together with their result.

1. What a context tells; 2. what `context.db` reads, writes and refuses; 3. one transaction with the result, or nothing;
4. a tool that asks, or wants to be called in another way; 5. pictures and entries.

spec: @tool_context @context_db @tool_asks
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from driving import DONE, GO_ON, script
from function_tools import LOG

import engine

TABLES = """
create table refunds (id integer primary key, order_name text not null constraint refunds_once unique, amount real)
strict;
create table balances (name text primary key, amount real not null) strict, without rowid;
insert into balances (name, amount) values ('shop', 100.0);
"""


@contextlib.contextmanager
def shop(folder: Path, *tools: Callable[..., Any], **options: Any) -> Any:
    """A file with the tables of a shop."""
    with engine.open(folder / "t.db", tools=tools, **options) as db:
        if not db.value("select 1 from sqlite_schema where name = 'refunds'"):
            for statement in filter(str.strip, TABLES.split(";")):
                db.execute(statement)
        yield db
    audit(folder / "t.db")


def picture_of(size: int) -> bytes:
    """A red PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\xff\0\0" * size) * size)
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def log_of(db: engine.Database) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in db.rows(LOG)]


# 1. what a context tells


class Till:
    """An object of an app."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_tool_is_told_of_its_call_and_no_model_of_the_context(tmp_path: Path) -> None:
    seen: list[engine.Context[Till]] = []

    def look(what: str, context: engine.Context[Till]) -> str:
        """Look at something."""
        seen.append(context)
        context.tell("half way")
        return context.app.name

    told: list[Any] = []
    with shop(tmp_path, look, context=Till("main")) as db:
        db.run("Go", run="demo", model=script(tmp_path, "<look>a</look>" + GO_ON, DONE), on_event=told.append)
        db.run(
            "On", run="demo", model=script(tmp_path, DONE, DONE, "<look>b</look>" + GO_ON, DONE), context=Till("other")
        )
        assert [tool["schema"]["properties"] for tool in db.tools()] == [{"what": {"type": "string"}}]
        assert "context" not in db.tools("look")[0]["document"]
        commands = [
            row["command_id"] for row in db.rows("select command_id from command_results where action = 'look'")
        ]
        assert [body for _, _, body in log_of(db)] == ['look(what="a")\nmain', 'look(what="b")\nother']
    first, second = seen
    assert (first.run, first.loop, first.prompt, first.turn, first.approved_by) == ("demo", 1, "Go", 1, None)
    assert (second.loop, second.prompt, second.turn) == (2, "On", 3)
    assert [first.command_id, second.command_id] == commands
    assert len({first.request_id, second.request_id}) == 2
    assert all(len(each.request_id) == 32 for each in seen)
    progress = [event for event in told if event["type"] == "progress"]
    assert [(event["action"], event["turn"], event["text"]) for event in progress] == [("look", 1, "half way")]


def test_a_second_context_is_refused_when_the_function_is_decorated() -> None:
    with pytest.raises(TypeError, match=r"a tool can have only one parameter of type engine\.Context"):

        @engine.tool
        def look(one: engine.Context, two: engine.Context[int]) -> None:  # type: ignore[type-arg]
            """Look."""


# 2. what context.db reads, writes and refuses


def test_a_tool_sees_what_it_has_written_and_nobody_else_does_before_its_result(tmp_path: Path) -> None:
    seen: list[Any] = []

    def refund(order: str, context: engine.Context[engine.Database]) -> int:
        number = context.db.value("insert into refunds (order_name, amount) values (?, 5.0) returning id", (order,))
        context.db.execute("update balances set amount = amount - 5 where name = 'shop'")
        context.db.execute_many("insert into balances values (?, ?)", [("a", 1.0), ("b", 2.0)])
        seen.append(context.db.rows("select name, amount from balances order by name"))
        other = context.app
        seen.append(other.rows("select (select count(*) from refunds) as refunds, amount from balances"))
        assert not other.in_transaction
        return int(number)

    with shop(tmp_path, refund) as db, engine.open(tmp_path / "t.db") as other:
        db.run("Go", run="demo", model=script(tmp_path, "<refund>A1</refund>" + GO_ON, DONE), context=other)
        assert log_of(db) == [("refund", 200, 'refund(order="A1")\n1')]
        assert seen == [
            [{"name": "a", "amount": 1.0}, {"name": "b", "amount": 2.0}, {"name": "shop", "amount": 95.0}],
            [{"refunds": 0, "amount": 100.0}],
        ]
        assert db.value("select amount from balances where name = 'shop'") == 95.0
        assert db.value("select order_name from refunds") == "A1"


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("insert into verb_set (run, path, body) values ('demo', 'known://a', 'b')", 403),
        ("update runs set status = 200", 403),
        ("delete from Settings", 403),
        ("insert into temp.sqlite_schema values (1, 2, 3, 4, 5)", 403),
        ("create table mine (a)", 403),
        ("drop table refunds", 403),
        ("alter table refunds add column b", 403),
        ("attach 'other.db' as other", 403),
        ("pragma foreign_keys = off", 403),
        ("begin", 403),
        ("commit", 403),
        ("savepoint a", 403),
        ("vacuum", 403),
        ("select load_extension('x')", 403),
        ("select late_call('verb_set', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)", 403),
        ("with a as (select 1) insert into events (at, run_id, kind) select 1, 1, 'x' from a", 403),
        ("insert into refunds (order_name) values ('a'); delete from refunds", 400),
        ("selec 1", 400),
        ("  -- nothing", 400),
        ("insert into refunds (order_name) values (?)", 400),
    ],
)
def test_a_tool_writes_the_tables_of_the_app_only(tmp_path: Path, statement: str, status: int) -> None:
    raised: list[engine.EngineError] = []

    def act(context: engine.Context[None]) -> str:
        try:
            context.db.execute(statement)
        except engine.EngineError as error:
            raised.append(error)
        return "on"

    with shop(tmp_path, act) as db:
        before = db.rows("select name, value from settings")
        db.run("Go", run="demo", model=script(tmp_path, "<act/>" + GO_ON, DONE))
        assert [error.status for error in raised] == [status], raised
        assert log_of(db) == [("act", 200, "act()\non")]
        assert db.rows("select name, value from settings") == before
        assert db.value("select count(*) from refunds") == 0


@pytest.mark.parametrize(
    "default", ["datetime('now', 'subsec')", "current_timestamp || random()", "hex(randomblob(8))"]
)
def test_a_default_that_is_another_one_later_is_named_when_it_was_read_back(tmp_path: Path, default: str) -> None:
    def book(context: engine.Context[None]) -> str:
        seen = context.db.value("insert into seats (name) values ('A1') returning made")
        time.sleep(0.01)
        return str(seen)

    def blind(context: engine.Context[None]) -> str:
        context.db.execute("insert into seats (name) values ('B2')")
        return "booked"

    with shop(tmp_path, book, blind) as db:
        db.execute(f"create table seats (name text, made text default ({default}))")
        db.run("Go", run="demo", model=script(tmp_path, "<book/>" + GO_ON, "<blind/>" + GO_ON, DONE))
        (_, _, told), (_, *stored) = log_of(db)
        assert "insert into seats (name) values ('A1') returning made" in told, told
        assert "compute that value in Python" in told
        assert stored == [200, "blind()\nbooked"], "what is not read back is stored"
        assert db.tuples("select name from seats") == [("B2",)]


def test_a_temporary_table_that_takes_the_place_of_one_of_the_app_is_not_written(tmp_path: Path) -> None:
    raised: list[str] = []

    def book(context: engine.Context[None]) -> str:
        for statement in ("insert into refunds (order_name) values ('A1')", "delete from refunds"):
            try:
                context.db.execute(statement)
            except engine.EngineError as error:
                raised.append(str(error))
        context.db.execute("insert into main.refunds (order_name) values (?)", (context.run,))
        return "on"

    with shop(tmp_path, book) as db:
        model = script(tmp_path, "<book/>" + GO_ON, DONE)
        db.run("Go", run="first", model=model)
        assert raised == []
        assert db.tuples("select order_name from main.refunds") == [("first",)]
        db.execute("create temp table refunds (order_name text)")
        db.run("Go", run="second", model=model)
        assert len(raised) == 2
        assert all("tool may write only tables of the app" in text for text in raised), raised
        assert db.tuples("select order_name from temp.refunds") == []
        assert db.tuples("select order_name from main.refunds") == [("first",), ("second",)]


def test_what_is_read_of_the_engine_is_not_compared_and_a_trigger_of_the_app_may_use_its_doors(tmp_path: Path) -> None:
    def note(context: engine.Context[None]) -> int:
        context.db.rows("select count(*) from events")
        context.db.execute("insert into refunds (order_name) values ('A1')")
        return int(context.db.value("select count(*) from run_overview"))

    with shop(tmp_path, note, trust=True) as db:
        db.start("Notes", run="notes", model="scripted:none")
        db.execute(
            "create trigger told after insert on refunds begin insert into verb_set (run, path, body) "
            "values ('notes', 'known://refund', new.order_name); end"
        )
        db.run("Go", run="demo", model=script(tmp_path, "<note/>" + GO_ON, DONE))
        assert log_of(db) == [("note", 200, "note()\n2")]
        assert db.value("select body from known_entries where path = 'known://refund'") == "A1"


# 3. one transaction with the result, or nothing


def test_a_tool_that_fails_stores_nothing(tmp_path: Path) -> None:
    def refund(how: str, context: engine.Context[None]) -> object:
        context.db.execute("insert into refunds (order_name) values (?)", (how,))
        if how == "raises":
            raise LookupError("no such order")
        if how == "twice":
            context.db.execute("insert into refunds (order_name) values (?)", (how,))
        return open if how == "no text" else None

    @engine.tool(timeout=3)  # on a busy machine it may not even begin before that
    def hang(context: engine.Context[None]) -> None:
        context.db.execute("insert into refunds (order_name) values ('hangs')")
        release.wait()

    release = threading.Event()
    calls = [f"<refund>{how}</refund>{GO_ON}" for how in ("raises", "no text", "twice")]
    calls.insert(1, f"<hang/>{GO_ON}")
    with shop(tmp_path, refund, hang) as db:
        for number, call in enumerate(calls):
            db.run("Go", run=f"demo{number}", model=script(tmp_path, call, DONE))
        release.set()
        bodies = [
            row["body"].partition("\n")[2]
            for row in db.rows("select body from run_log where action in ('refund', 'hang')")
        ]
        assert bodies[0] == "LookupError: no such order"
        assert bodies[1].endswith("whether it finished is unknown. Nothing that it wrote by context.db was stored.")
        assert "is not JSON" in bodies[2]
        assert bodies[3].startswith("ValidationError: a constraint of the file refuses this: UNIQUE constraint failed")
        assert db.value("select count(*) from refunds") == 0


def test_a_call_that_is_over_stores_nothing_any_more(tmp_path: Path) -> None:
    kept: list[engine.Context[None]] = []

    def keep(context: engine.Context[None]) -> None:
        kept.append(context)

    with shop(tmp_path, keep) as db:
        db.run("Go", run="demo", model=script(tmp_path, "<keep/>" + GO_ON, DONE))
        with pytest.raises(engine.Conflict, match="is over"):
            kept[0].db.execute("insert into refunds (order_name) values ('late')")


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_tool_whose_rows_others_change_is_called_again_if_it_may_be(tmp_path: Path, idempotent: bool) -> None:
    seen: list[tuple[float, str]] = []

    @engine.tool(idempotent=idempotent)
    def take(amount: float, context: engine.Context[engine.Database]) -> str:
        """Take an amount out of the till."""
        there = context.db.value("select amount from balances where name = 'shop'")
        seen.append((there, context.request_id))
        if len(seen) == 1:
            context.app.execute("update balances set amount = 50 where name = 'shop'")
        context.db.execute("update balances set amount = ? where name = 'shop'", (there - amount,))
        return f"{there - amount:g} left"

    with shop(tmp_path, take) as db, engine.open(tmp_path / "t.db") as other:
        db.run("Go", run="demo", model=script(tmp_path, "<take>10</take>" + GO_ON, DONE), context=other)
        ((_, status, body),) = log_of(db)
        amount = db.value("select amount from balances where name = 'shop'")
    if idempotent:
        assert (status, body.partition("\n")[2], amount) == (200, "40 left", 40.0)
        assert [there for there, _ in seen] == [100.0, 50.0]
        assert len({request for _, request in seen}) == 1
    else:
        assert (status, amount, len(seen)) == (409, 50.0, 1)
        assert body.partition("\n")[2].startswith("Nothing of it was stored: ")


def test_a_constraint_that_is_checked_at_the_commit_fails_the_call(tmp_path: Path) -> None:
    def refund(context: engine.Context[None]) -> None:
        context.db.execute("insert into lines (refund) values (7)")

    with shop(tmp_path, refund) as db:
        db.execute("create table lines (refund integer references refunds (id) deferrable initially deferred) strict")
        db.run("Go", run="demo", model=script(tmp_path, "<refund/>" + GO_ON, DONE))
        ((_, status, body),) = log_of(db)
        assert (status, db.value("select count(*) from lines")) == (500, 0)
        assert "Nothing of it was stored: a constraint of the file refuses this: FOREIGN KEY" in body


def test_an_aborted_call_stores_nothing(tmp_path: Path) -> None:
    def refund(context: engine.Context[engine.Database]) -> None:
        context.db.execute("insert into refunds (order_name) values ('A1')")
        context.app.abort("demo")

    with shop(tmp_path, refund) as db, engine.open(tmp_path / "t.db") as other:
        assert db.run("Go", run="demo", model=script(tmp_path, "<refund/>" + GO_ON, DONE), context=other).status == 499
        assert db.value("select count(*) from refunds") == 0


def test_nobody_waits_for_a_tool_that_waits_for_the_world(tmp_path: Path) -> None:
    """A writer in another handle, and one in another process, write while plain and async tools have written and wait."""
    statement = "insert into balances values ('{}', 1)"
    program = f'import engine; engine.open({str(tmp_path / "t.db")!r}).execute("{statement}")'

    def plain(context: engine.Context[None]) -> str:
        context.db.execute("insert into refunds (order_name) values ('plain')")
        subprocess.run([sys.executable, "-c", program.format("plain")], check=True, timeout=100)
        return "done"

    async def later(context: engine.Context[None]) -> str:
        context.db.execute("insert into refunds (order_name) values ('later')")
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program.format("later"))
        assert await process.wait() == 0
        return "done"

    async def main() -> None:
        async with await engine.open_async(tmp_path / "t.db", tools=[plain, later]) as db:
            model = script(tmp_path, "<plain/>" + GO_ON, "<later/>" + GO_ON, DONE)
            await db.run_async("Go", run="demo", model=model)
            rows = await db.call_async(lambda db: db.rows("select order_name from refunds order by id"))
            assert [row["order_name"] for row in rows] == ["plain", "later"]
            assert [body for _, _, body in await db.call_async(log_of)] == ["plain()\ndone", "later()\ndone"]

    with shop(tmp_path):
        pass
    asyncio.run(main())
    audit(tmp_path / "t.db")


# 4. a tool that asks, or wants to be called in another way


def test_a_tool_asks_for_a_decision_and_is_called_again_with_who_decided(tmp_path: Path) -> None:
    seen: list[tuple[str, str | None]] = []

    def pay(amount: float, context: engine.Context[None]) -> str:
        seen.append((context.request_id, context.approved_by))
        context.db.execute("insert into refunds (order_name, amount) values ('A1', ?)", (amount,))
        if amount > 50 and context.approved_by is None:
            raise engine.NeedsApproval("more than 50 needs a second pair of eyes")
        return "paid"

    model = script(tmp_path, "<pay>20</pay>" + GO_ON, DONE, "<pay>70</pay>" + GO_ON, DONE)
    with shop(tmp_path, pay) as db:
        assert db.run("Go", run="demo", model=model).status == 200
        db.execute("delete from refunds")
        assert db.run("On", run="demo", model=model).status == 202
        (proposal,) = db.proposals("demo")
        assert (proposal["kind"], proposal["detail"]) == (
            "function",
            "pay(amount=70.0)\nmore than 50 needs a second pair of eyes",
        )
        assert db.value("select count(*) from refunds") == 0
        assert [row["run"] for row in db.rows("select run from resumable_runs")] == []
    with shop(tmp_path, pay) as db:
        db.resolve("demo", accept=True, by="Ada")
        assert db.resume("demo").status == 200
        assert db.rows("select amount from refunds") == [{"amount": 70.0}]
        assert log_of(db)[-1] == ("pay", 200, "pay(amount=70.0)\npaid")
    assert [approved for _, approved in seen] == [None, None, "Ada"]
    assert seen[1][0] == seen[2][0]


@pytest.mark.parametrize("options", [{"no_proposals": True}, {"yolo": True}, {"on_proposal": lambda _: False}])
def test_a_tool_that_asks_where_nobody_says_yes_or_again_and_again(tmp_path: Path, options: dict[str, Any]) -> None:
    calls: list[int] = []

    def pay(context: engine.Context[None]) -> None:
        calls.append(1)
        raise engine.NeedsApproval

    with shop(tmp_path, pay) as db:
        result = db.run("Go", run="demo", model=script(tmp_path, "<pay/>" + GO_ON, DONE), **options)
        ((_, status, body),) = [row for row in log_of(db) if row[0] == "pay"]
    expected = {"no_proposals": (200, 403, 1), "yolo": (200, 500, 2), "on_proposal": (403, 403, 1)}
    assert (result.status, status, len(calls)) == expected[next(iter(options))]
    if "yolo" in options:
        assert body == "pay()\nIt was accepted, and asks for a decision again."


def test_a_tool_that_wants_to_be_called_in_another_way_is_no_strike(tmp_path: Path) -> None:
    def find(what: str) -> str:
        if not what.isdigit():
            raise engine.Retry("Give the number of the order, such as 4711.")
        return "found"

    calls = [f"<find>{what}</find>{GO_ON}" for what in ("a", "b", "c", "d", "e", "4711")]
    with shop(tmp_path, find) as db:
        assert db.run("Go", run="demo", model=script(tmp_path, *calls, DONE)).status == 200
        assert [(status, body.partition("\n")[2]) for _, status, body in log_of(db)] == [
            *[(400, "Give the number of the order, such as 4711.")] * 5,
            (200, "found"),
        ]


# 5. pictures and entries


def test_a_tool_returns_pictures_and_entries_that_are_stored_with_its_result(tmp_path: Path) -> None:
    def show(context: engine.Context[None]) -> list[object]:
        context.db.execute("insert into refunds (order_name) values ('A1')")
        return [
            "two of them",
            engine.Picture(picture_of(2)),
            engine.Entry("known://orders/A1", "It was refunded."),
            {"left": 1},
        ]

    def overwrite(path: str, context: engine.Context[None]) -> engine.Entry:
        context.db.execute("insert into refunds (order_name) values ('A2')")
        return engine.Entry(path, "mine")

    paths = ["notes.md", "run://demo", "log://turn_1/x"]
    calls = [f"<overwrite>{path}</overwrite>{GO_ON}" for path in paths]
    with shop(tmp_path, show, overwrite) as db:
        db.run("Go", run="demo", model=script(tmp_path, "<show/>" + GO_ON, *calls, DONE))
        (_, status, body), *others = log_of(db)
        assert status == 200
        first, text, picture, entry, left = body.split("\n")
        assert (first, text, entry, left) == ("show()", "two of them", "[entry: known://orders/A1]", '{"left": 1}')
        path = picture.removeprefix("[picture: ").removesuffix("]")
        assert db.value("select count(*) from known_entries where path = ?", (path,)) == 1
        assert db.value("select body from known_entries where path = 'known://orders/A1'") == "It was refunded."
        told = db.value("select body from packet_texts where run = 'demo' and turn = 2 and role = 'user'")
        assert path in told
        refused = [body for _, status, body in others if status == 500]
        assert len(refused) == len(paths)
        assert "notes.md" in refused[0]
        assert db.rows("select order_name from refunds") == [{"order_name": "A1"}]
