"""Any method of a `Database` may be called from any thread: from one beside, from a tool, from a callback, under
asyncio.

1. Every public method from every place. 2. A tool that writes a table of its app, two hundred times at once. 3. What threads
that share a handle do not see of each other.

spec: @any_thread @async_contract @python_tools
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from function_tools import opened
from loopback import Handler, saying, serving

import engine
from engine.db import alone, purging
from engine.db.database import Store

_numbers = count(1)
SHELL = "<sh>echo hello</sh>" + GO_ON
WORKFLOW = "name: greet\ndescription: Greet\nsteps:\n  - id: hi\n    model: {model}\n    instruction: Greet\n"


class Uses:
    """A use of each method, on a run of its own; what is true of what came back is returned."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir(exist_ok=True)
        self.folder = folder
        self.ended = script(folder, DONE)
        self.shell = script(folder, SHELL, DONE)
        self.workflow = folder / "greet.yaml"
        self.workflow.write_text(WORKFLOW.format(model=self.ended), "utf-8")

    def a_run(self, db: engine.Database, **options: Any) -> str:
        return db.start("Go", run=f"use{next(_numbers)}", model=self.ended, **options).run

    def waiting(self, db: engine.Database) -> str:
        run = f"use{next(_numbers)}"
        assert db.run("Go", run=run, model=self.shell, root=self.root, sandbox="off").status == 202
        return run

    def transaction(self, db: engine.Database) -> bool:
        number = next(_numbers)
        with db.transaction():
            db.execute("insert into mine values (?, 1)", (number,))
            time.sleep(0.002)  # others want to write meanwhile
            db.execute("update mine set n = n + 1 where id = ?", (number,))
        return bool(db.value("select n from mine where id = ?", (number,)) == 2)

    def savepoint(self, db: engine.Database) -> bool:
        number = next(_numbers)
        with suppress(ZeroDivisionError), db.savepoint():
            db.execute("insert into mine values (?, 1)", (number,))
            raise ZeroDivisionError
        return db.value("select n from mine where id = ?", (number,)) is None

    def execute(self, db: engine.Database) -> bool:
        number = next(_numbers)
        db.execute("insert into mine values (?, 7)", (number,))
        return db.rows("select n from mine where id = ?", (number,)) == [{"n": 7}]

    def output(self, db: engine.Database) -> bool:
        run = self.waiting(db)
        db.resolve(run, accept=True)
        assert db.resume(run).status == 200
        return [piece["text"] for piece in db.output(run, "sh://turn_1/echo_hello")] == ["hello\n"]

    def cancel(self, db: engine.Database) -> bool:
        with pytest.raises(engine.NotFound):
            db.cancel(self.a_run(db), "sh://turn_1/x")
        return True

    def undo(self, db: engine.Database) -> bool:
        run = self.a_run(db)
        db.resume(run)
        with pytest.raises(engine.NotFound, match="there is no edit to undo"):
            db.undo(run)
        return True

    def rewind(self, db: engine.Database) -> bool:
        run = self.a_run(db)
        db.resume(run)
        return db.rewind(run, 1, dry_run=True) is not None

    def exported(self, db: engine.Database) -> tuple[str, Path]:
        run = db.run("Go", run=f"use{next(_numbers)}", model=self.ended).run
        assert len(db.export_run(run, self.folder / f"{run}.jsonl")) == 64
        return run, self.folder / f"{run}.jsonl"

    def import_run(self, db: engine.Database) -> bool:
        run, file = self.exported(db)
        return db.import_run(file, name=f"{run}-again", trust=True) == f"{run}-again"

    def move_run(self, db: engine.Database) -> bool:
        run, _ = self.exported(db)
        with engine.open(self.folder / f"{run}.db") as target:
            return db.move_run(run, target) == run

    def other(self, db: engine.Database, how: Callable[[], Any]) -> bool:
        with how() as handle:
            return bool(handle.value("select 1"))

    @property
    def calls(self) -> dict[str, Callable[[engine.Database], Any]]:
        return {
            "abort": lambda db: db.abort(self.a_run(db), "enough") is None,
            "call_door": lambda db: db.call_door("verb_set", run=self.a_run(db), path="known://x", body="b") is None,
            "cancel": self.cancel,
            "capabilities": lambda db: db.capabilities(self.a_run(db)),
            "describe": lambda db: db.describe(self.a_run(db), "A title") is None,
            "events": lambda db: [each["type"] for each in db.events(db.run("Go", model=self.ended).run)],
            "execute": self.execute,
            "execute_ahead": lambda db: db.execute_ahead("insert into mine values (?, 1)", (next(_numbers),)) is None,
            "expect_no_transaction": lambda db: db.expect_no_transaction() is None,
            "export_run": lambda db: self.exported(db)[1].exists(),
            "fork": lambda db: db.fork(self.a_run(db), f"fork{next(_numbers)}"),
            "handoff": lambda db: db.handoff(self.a_run(db), "reviewer") is None,
            "import_messages": lambda db: db.import_messages(
                f"use{next(_numbers)}", [{"role": "user", "content": "Hi"}]
            ),
            "messages": lambda db: db.messages(db.run("Go", model=self.ended).run),
            "replay": lambda db: db.replay(db.run("Go", model=self.ended).run).identical,
            "analysis": lambda db: db.analysis().sql("select 1 as one") == [{"one": 1}],
            "why": lambda db: db.why(db.run("Go", model=self.ended).run).text,
            "verify": lambda db: db.verify(self.a_run(db)).runs,
            "has": lambda db: db.has("threads") in (True, False),
            "install": lambda db: db.install("rules", "threads") is None,
            "give_model": lambda db: db.give_model(Cast()),
            "import_run": self.import_run,
            "insert": lambda db: db.insert("mine", id=next(_numbers), n=1) is None,
            "move_run": self.move_run,
            "moved": lambda db: not db.moved(),
            "proposals": lambda db: len(db.proposals(self.waiting(db))) == 1,
            "purge": lambda db: db.purge(self.a_run(db)) >= 0,
            "rename": lambda db: db.rename(self.a_run(db), f"named{next(_numbers)}") is None,
            "resolve": lambda db: db.resolve(self.waiting(db), accept=False) is None,
            "result": lambda db: db.result(self.a_run(db)).status == 100,
            "resume": lambda db: db.resume(self.a_run(db)).status == 200,
            "rewind": self.rewind,
            "row": lambda db: db.row("select 1 as one") == {"one": 1},
            "rows": lambda db: db.rows("select 1 as one") == [{"one": 1}],
            "run": lambda db: db.run("Go", model=self.ended).status == 200,
            "run_workflow": lambda db: db.run_workflow(self.workflow).status == 200,
            "runs": lambda db: len(db.runs()) > 0,
            "savepoint": self.savepoint,
            "shared": lambda db: self.other(db, db.shared),
            "again": lambda db: self.other(db, db.again),
            "beside": lambda db: self.other(db, db.beside),
            "sql": lambda db: db.sql("select count(*) as n from runs")[0]["n"] > 0,
            "start": self.a_run,
            "start_workflow": lambda db: db.start_workflow(self.workflow).run,
            "steps": lambda db: db.steps(db.start_workflow(self.workflow).run),
            "output": self.output,
            "stream": lambda db: [event.type for event in db.stream("Go", model=self.ended)][-1] == "end",
            "tools": lambda db: isinstance(db.tools(), list),
            "transaction": self.transaction,
            "tuples": lambda db: db.tuples("select 1") == [(1,)],
            "undo": self.undo,
            "value": lambda db: db.value("select 1") == 1,
            "run_async": lambda db: asyncio.run(db.run_async("Go", model=self.ended)).status == 200,
            "resume_async": lambda db: asyncio.run(db.resume_async(self.a_run(db))).status == 200,
            "call_async": lambda db: asyncio.run(db.call_async(self.a_run)),
            "events_async": lambda db: asyncio.run(told(db, db.run("Go", model=self.ended).run)),
        }

    def failures(self, db: engine.Database) -> list[str]:
        """What did not come off of all that is tried, one after the other."""
        wrong = []
        for name, call in self.calls.items():
            try:
                if not call(db):
                    wrong.append(f"{name}: nothing")
            except BaseException as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
        return wrong


INTERNAL = {
    "add_wires": "a driver hangs triggers in",
    "close_or_remove": "at the end of a command",
    "driven": "a driver counts itself",
    "elsewhere": "a replay, for its copy of the file",
    "held": "the engine's own reads",
    "keep_if_used": "at the beginning of a command",
    "keys_for": "whoever asks a model",
    "looking": "what sql uses",
    "take_in": "a driver takes in modules",
    "make_room_for_tools": "a driver takes in the tools of a prompt",
    "use_tools": "at the opening",
    "working": "a driver's statements",
}
"""Public among the modules of the engine, no methods of its API, and why they are there."""
CLOSING = {"close", "close_async"}


class Cast:
    """A model that says that it is done."""

    name = "cast"

    def complete(self, request: Any, on_delta: Any, cancelled: Any) -> Any:
        from engine.models.protocol import Completion

        return Completion(text=DONE)


async def told(db: engine.Database, run: str) -> list[engine.Event]:
    return [event async for event in db.events_async(run)]


def with_table(db: engine.Database) -> engine.Database:
    db.execute("create table mine (id integer primary key, n integer)")
    return db


def test_every_public_method_is_tried(tmp_path: Path) -> None:
    public = {name for name, each in inspect.getmembers(engine.Database, callable) if not name.startswith("_")}
    assert set(Uses(tmp_path).calls) | set(INTERNAL) | CLOSING == public


def test_every_method_works_in_threads_beside(tmp_path: Path) -> None:
    uses = Uses(tmp_path)
    with opened(tmp_path / "t.db") as db:
        with_table(db)
        wrong: list[str] = []
        threads = [threading.Thread(target=lambda: wrong.extend(uses.failures(db))) for _ in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert uses.transaction(db)
            assert db.sql("select 1 as one") == [{"one": 1}]
        assert wrong == []


@pytest.mark.parametrize("is_async", [False, True])
def test_every_method_works_in_a_tool(tmp_path: Path, is_async: bool) -> None:
    """`db.run` drives with the handle that the tool uses, `run_async` with another."""
    uses = Uses(tmp_path)
    wrong: list[str] = []

    def use() -> str:
        """Use the file."""
        wrong.extend(uses.failures(db))
        return "used"

    async def use_async() -> str:
        """Use the file."""
        await asyncio.to_thread(use)
        return "used"

    use_async.__name__ = "use"
    model = script(tmp_path, "<use/>" + GO_ON, DONE)
    with opened(tmp_path / "t.db", use_async if is_async else use) as db:
        with_table(db)
        assert db.run("Go", run="demo", model=model).status == 200
        assert asyncio.run(db.run_async("Go", run="other", model=model)).status == 200
        states = db.tuples("select state from command_results where action = 'use'")
        assert (wrong, states) == ([], [("resolved",)] * 2)


@pytest.mark.parametrize("way", ["run", "run_async"])
def test_every_method_works_in_the_callbacks(tmp_path: Path, way: str) -> None:
    uses = Uses(tmp_path)
    wrong: list[str] = []
    called: set[str] = set()

    def used(where: str) -> None:
        if where in ("turn", "asked", "output") and where not in called:
            called.add(where)
            wrong.extend(f"{where}: {each}" for each in uses.failures(db))

    def on_event(event: Any) -> None:
        used(event["type"])

    def on_proposal(proposal: Any) -> bool:
        used("asked")
        return True

    with opened(tmp_path / "t.db") as db:
        with_table(db)
        given: Any = {
            "run": "demo",
            "model": script(tmp_path, SHELL, DONE),
            "root": uses.root,
            "sandbox": "off",
            "on_event": on_event,
            "on_proposal": on_proposal,
        }
        result = db.run("Go", **given) if way == "run" else asyncio.run(db.run_async("Go", **given))
        assert (wrong, result.status) == ([], 200)
        assert called == {"asked", "turn", "output"}


def test_a_file_is_not_closed_while_a_callback_of_its_driver_works(tmp_path: Path) -> None:
    refused: list[str] = []

    def on_event(event: Any) -> None:
        try:
            db.close()
        except engine.Conflict as error:
            refused.append(error.message)

    with opened(tmp_path / "t.db") as db:
        assert db.run("Go", model=script(tmp_path, DONE), on_event=on_event).status == 200
        assert refused
        assert "a run is working" in refused[0]


@pytest.mark.slow
def test_a_plain_tool_writes_the_apps_table_in_each_of_two_hundred_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model server that takes 50 ms; a call before the answer, both over the wire."""
    runs = 200

    def refund(order: int) -> str:
        """Refund an order."""
        db.execute("insert into refunds values (?)", (order,))
        return f"refunded {order}"

    def answer(handler: Handler) -> None:
        time.sleep(0.05)
        said = str(handler.asked["messages"])
        order = said.rsplit("order number ", 1)[1].split(".")[0]
        saying(DONE if f"refunded {order}" in said else f'<refund order="{order}"/>' + GO_ON)(handler)

    async def crowd() -> list[engine.Result]:
        return await asyncio.gather(
            *(db.run_async(f"Refund order number {n}.", run=f"r{n}", model="openai/tiny") for n in range(runs))
        )

    with serving(answer) as server, opened(tmp_path / "t.db", refund) as db:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "of-a-test")
        db.execute("create table refunds (order_id integer primary key)")
        ended = asyncio.run(crowd())
        assert [result.status for result in ended] == [200] * runs
        assert db.value("select count(*) from refunds") == runs
        assert db.tuples("select state, count(*) from command_results where action = 'refund' group by 1") == [
            ("resolved", runs)
        ]
        assert db._pool is not None
        assert db._pool.size <= 4


def test_a_transaction_is_that_of_its_thread(tmp_path: Path) -> None:
    """What another thread writes meanwhile is no part of it, and stays where it is rolled back."""
    with opened(tmp_path / "t.db") as db:
        with_table(db)
        inside = threading.Event()

        def write() -> None:
            inside.wait()
            assert not db.in_transaction
            db.execute("insert into mine values (2, 2)")

        thread = threading.Thread(target=write)
        thread.start()
        with suppress(ZeroDivisionError), db.transaction():
            db.execute("insert into mine values (1, 1)")
            inside.set()
            thread.join(0.2)
            assert db.rows("select id from mine") == [{"id": 1}]
            raise ZeroDivisionError
        thread.join()
        assert db.rows("select id from mine") == [{"id": 2}]


def test_a_thread_that_another_ones_transaction_waits_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "WAIT_S", 0.05)
    told: list[BaseException] = []
    with opened(tmp_path / "t.db") as db:

        def read() -> None:
            try:
                db.value("select 1")
            except engine.Conflict as error:
                told.append(error)

        with db.transaction():
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()
        assert "another thread has an open transaction" in str(told[0])
        assert isinstance(db, Store)
        assert db.value("select 1") == 1


def test_what_another_thread_writes_during_a_sweep_is_checked(tmp_path: Path) -> None:
    faults: list[str] = []

    def write(db: engine.Database) -> None:
        try:
            db.execute("insert into rule_sources (rule_set_id, place, files, items) values (99, 'x', '{}', '{}')")
        except Exception as error:
            faults.append(str(error))

    with opened(tmp_path / "t.db") as db:
        thread = threading.Thread(target=write, args=(db,))
        with purging._unchecked(db):
            thread.start()
            thread.join(0.5)
        thread.join()
    assert len(faults) == 1
    assert "FOREIGN KEY" in faults[0] or "99" in faults[0]
