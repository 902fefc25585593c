"""Functions of an app as tools, and who drives their runs.

1. Decisions; 2. whose tools they are; 3. a call is made at most once; 4. threads, loops, time, and the handle.

spec: @python_tools @effects
"""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from function_tools import LOG, driven, opened

import engine

# 1. decisions


def test_a_function_that_asks_waits_for_a_decision(tmp_path: Path) -> None:
    paid: list[float] = []

    @engine.tool(ask=True)
    def pay(amount: float) -> None:
        """Pay."""
        paid.append(amount)

    asked: list[engine.Proposal] = []

    def decide(proposal: engine.Proposal) -> bool:
        asked.append(proposal)
        return len(asked) == 1

    model = script(
        tmp_path, '<pay amount="x"/>' + GO_ON, '<pay amount="3"/>' + GO_ON, '<pay amount="4"/>' + GO_ON, DONE
    )
    with opened(tmp_path / "t.db", pay) as db:
        result = db.run("Go", run="demo", model=model, on_proposal=decide)
        assert [(each["kind"], each["target"], each["detail"]) for each in asked] == [
            ("function", "pay", "pay(amount=3.0)"),
            ("function", "pay", "pay(amount=4.0)"),
        ]
        assert paid == [3.0]
        assert result.status == 403
        result = db.run("Go", run="closed", model=script(tmp_path, '<pay amount="1"/>', DONE), no_proposals=True)
        assert db.value("select status from run_log where run = 'closed' and action = 'pay'") == 403
    assert paid == [3.0]


def test_only_one_that_reads_is_open_in_the_mode_ask(tmp_path: Path) -> None:
    @engine.tool(reads=True)
    def look() -> str:
        raise LookupError("nothing")

    def change() -> str:
        return "changed"

    log = driven(tmp_path, [look, change], '<look/><set path="known://a">a</set>', "<change/>", mode="ask")
    assert [(action, status) for action, status, _ in log] == [("look", 500), ("set", 200), ("change", 403)]


# 2. whose tools they are


def test_a_driver_without_the_function_does_not_offer_it(tmp_path: Path) -> None:
    def find(what: str) -> str:
        """Find something."""
        return f"found {what}"

    answers = ["<find>a</find>" + GO_ON, DONE]
    told = "select group_concat(body, '') from packet_texts where run = ? and role = 'system'"
    with opened(tmp_path / "t.db", find) as own, engine.open(tmp_path / "t.db") as other:
        own.run("Go", run="own", model=script(tmp_path, *answers))
        other.run("Go", run="other", model=script(tmp_path, *answers))
        assert "## <find>what</find> - Find something." in own.value(told, ("own",))
        assert "Find something" not in own.value(told, ("other",))
        rows = own.rows("select run, status, body from run_log where action = 'find' order by run desc")
        assert [tuple(row.values()) for row in rows] == [
            ("own", 200, 'find(what="a")\nfound a'),
            (
                "other",
                403,
                "<find> is not available now: it is not connected, or not set up. "
                "Use one of: get, set, think, env, sh, rm, cp, mv, update, ask_user.",
            ),
        ]
        child = own.fork("other", "child")
        own.run("Again", run=child, model=script(tmp_path, *answers))
        assert own.value("select status from run_log where run = 'child' and action = 'find' and turn = 3") == 200


def test_an_accepted_call_fails_clearly_where_the_function_is_not(tmp_path: Path) -> None:
    @engine.tool(ask=True)
    def pay(amount: int) -> str:
        raise AssertionError("it is not here")

    with opened(tmp_path / "t.db", pay) as db:
        assert db.run("Go", run="demo", model=script(tmp_path, "<pay>3</pay>" + GO_ON, DONE)).status == 202
    with opened(tmp_path / "t.db") as db:
        db.resolve("demo", accept=True)
        assert db.resume("demo").status == 200
        ((action, status, body),) = [tuple(row.values()) for row in db.rows(LOG)]
    assert (action, status) == ("pay", 500)
    assert body.startswith("pay(amount=3)\nNot called: it is a function of an app; resume where")


def test_a_function_that_changed_is_told_anew_and_keeps_its_place(tmp_path: Path) -> None:
    def one(a: int) -> None:
        """One."""

    def two() -> None:
        """Two."""

    def changed(a: int, b: int) -> None:
        """Changed."""

    tools = "select name, meaning, ordinal from tools where ordinal >= 1000 order by ordinal"
    with opened(tmp_path / "t.db", one, two) as db:
        before = [tuple(row.values()) for row in db.rows(tools)]
    with opened(tmp_path / "t.db", two, engine.tool(name="one")(changed)) as db:
        after = [tuple(row.values()) for row in db.rows(tools)]
    assert [row[:2] for row in before] == [("one", "One."), ("two", "Two.")]
    assert after == [("one", "Changed.", before[0][2]), before[1]]


# 3. at most once

KILLED = """\
import os, signal, sys
import engine

@engine.tool(idempotent={idempotent})
def send(what: str) -> str:
    with open({log!r}, "a") as file:
        file.write(what)
    if os.path.getsize({log!r}) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "sent"

with engine.open({db!r}, tools=[send]) as db:
    run = (db.resume("demo") if sys.argv[1:] else db.run("Go", run="demo", model={model!r}))
"""


@pytest.mark.parametrize(("idempotent", "calls"), [(False, "a"), (True, "aa")])
def test_a_call_that_was_killed_is_made_again_only_where_that_is_said(
    tmp_path: Path, idempotent: bool, calls: str
) -> None:
    log, path = tmp_path / "log", tmp_path / "t.db"
    program = KILLED.format(
        idempotent=idempotent, log=str(log), db=str(path), model=script(tmp_path, "<send>a</send>" + GO_ON, DONE)
    )
    first = subprocess.run([sys.executable, "-c", program], check=False, timeout=300)
    assert (first.returncode, log.read_text("utf-8")) == (-9, "a")
    subprocess.run([sys.executable, "-c", program, "resume"], check=True, timeout=300)
    assert log.read_text("utf-8") == calls
    with opened(path) as db:
        ((_, status, body),) = [tuple(row.values()) for row in db.rows(LOG)]
        assert db.result("demo").status == 200
    if idempotent:
        assert (status, body) == (200, 'send(what="a")\nsent')
    else:
        assert status == 499
        assert body.startswith('send(what="a")\nInterrupted: ')


@pytest.mark.parametrize("idempotent", [False, True])
def test_stopping_the_driver_gives_a_call_up(tmp_path: Path, idempotent: bool) -> None:
    drivers: list[Any] = []
    release, calls = threading.Event(), []

    @engine.tool(idempotent=idempotent)
    def hang() -> str:
        calls.append(1)
        if len(calls) == 1:
            drivers[0].stop()
            release.wait()
        return "back"

    model = script(tmp_path, "<hang/>" + GO_ON, DONE)
    with opened(tmp_path / "t.db", hang) as db:
        assert db.run("Go", run="demo", model=model, on_driver=drivers.append).status == 102
        assert db.resume("demo").status == 200
        ((_, status, body),) = [tuple(row.values()) for row in db.rows(LOG)]
    release.set()
    assert (len(calls), status) == ((2, 200) if idempotent else (1, 499))
    assert body == "hang()\n" + ("back" if idempotent else "Stopped while it worked; whether it finished is unknown.")


# 4. threads, loops, time, and the handle

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def test_context_variables_are_those_of_the_app(tmp_path: Path) -> None:
    def plain() -> str:
        return WHO.get()

    async def later() -> str:
        return WHO.get()

    WHO.set("Ada")
    assert [body for _, _, body in driven(tmp_path, [plain, later], "<plain/>", "<later/>")] == [
        "plain()\nAda",
        "later()\nAda",
    ]


def test_async_functions_run_in_the_loop_of_the_app(tmp_path: Path) -> None:
    loops: list[Any] = []

    async def later() -> str:
        loops.append(asyncio.get_running_loop())
        return WHO.get()

    def plain() -> str:
        return WHO.get()

    async def main() -> list[str]:
        loops.append(asyncio.get_running_loop())
        WHO.set("Bob")
        async with await engine.open_async(tmp_path / "t.db", tools=[later, plain]) as db:
            await db.run_async("Go", run="demo", model=script(tmp_path, "<later/>", "<plain/>", DONE))
            return [row["body"] for row in await db.call_async(lambda db: db.sql(LOG))]

    assert asyncio.run(main()) == ["later()\nBob", "plain()\nBob"]
    assert loops[0] is loops[1]


def test_async_functions_of_one_driving_share_a_loop_and_do_not_wait_for_a_loop_that_is_held_up(tmp_path: Path) -> None:
    loops: list[Any] = []

    async def later() -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        with opened(tmp_path / "t.db", later) as db:
            db.run("Go", run="demo", model=script(tmp_path, "<later/>", "<later/>", DONE))  # it holds the loop up

    asyncio.run(main())
    assert loops[0] is not loops[1]
    assert loops[1] is loops[2]
    assert loops[1].is_closed()


def test_a_function_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    release, began, cancelled = threading.Event(), threading.Event(), threading.Event()

    @engine.tool(timeout=0.2)
    def hang() -> None:
        release.wait()

    @engine.tool(timeout=2)  # on a busy machine it may not even begin before that
    async def later() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    log = driven(tmp_path, [hang, later], "<hang/>", "<later/>")
    release.set()
    told = "No result within {} s; whether it finished is unknown."
    assert log == [("hang", 504, f"hang()\n{told.format(0.2)}"), ("later", 504, f"later()\n{told.format(2)}")]
    assert not began.is_set() or cancelled.wait(60)


def test_cancelling_the_task_cancels_an_async_function(tmp_path: Path) -> None:
    ended: list[str] = []

    async def main() -> None:
        started = asyncio.Event()

        async def later() -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        async with await engine.open_async(tmp_path / "t.db", tools=[later]) as db:
            task = asyncio.create_task(db.run_async("Go", run="demo", model=script(tmp_path, "<later/>", DONE)))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert db.value("select outcome from command_results where action = 'later'") == "interrupted"

    asyncio.run(main())
    assert ended == ["cancelled"]


def test_a_function_may_use_the_handle_that_drives_its_run(tmp_path: Path) -> None:
    used: list[Any] = []

    def ask() -> str:
        db = used[0]
        db.insert("verb_set", run="notes", path="known://a", body="noted")
        db.start("Later", run="later", model="scripted:none")
        with pytest.raises(engine.Conflict):
            db.resume("demo")
        with pytest.raises(engine.Conflict):
            db.close()
        inner = db.run("Go", run="inner", model=script(tmp_path, DONE))
        return f"{db.value('select count(*) from runs')} {inner.status}"

    def forget() -> str:
        used[0].execute("begin immediate")
        return "never told"

    with opened(tmp_path / "t.db", ask, forget) as db:
        used.append(db)
        db.start("Go", run="notes", model="scripted:none")
        db.run("Go", run="demo", model=script(tmp_path, "<ask/>", "<forget/>" + GO_ON, DONE))
        assert [tuple(row.values()) for row in db.rows(LOG)] == [
            ("ask", 200, "ask()\n4 200"),
            ("forget", 500, "forget()\nIt left a transaction open, so its changes were rolled back."),
        ]


def test_what_a_function_prints_is_the_apps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def say() -> None:
        print("to the person")

    assert driven(tmp_path, [say], "<say/>") == [("say", 200, "say()\nDone.")]
    assert capsys.readouterr().out == "to the person\n"


def test_a_connection_without_functions_has_no_program_for_them(db: engine.Database, tmp_path: Path) -> None:
    statement = "explain insert into _dispatch (run, lease) values ('demo', 'token')"
    plain = len(db.rows(statement))
    with opened(tmp_path / "other.db", engine.tool(name="other")(lambda: None)) as other:
        assert len(other.rows(statement)) > plain
    assert db.value("select count(*) from sqlite_temp_schema") == 0
