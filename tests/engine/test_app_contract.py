"""What an app builds on: prompts that others drive, typed lists, events that are followed, model objects, asyncio.

spec: @python_contract @async_contract @following @on_event @models_protocol @run_without_root
"""

from __future__ import annotations

import asyncio
import pydoc
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import pytest
from audit import audit
from driving import DONE, GO_ON, script
from fresh import fresh
from timing import wait_until

import engine
from engine.api.following import Follower
from engine.driving.prose import Answer, settled
from engine.models.protocol import Completion, ModelError, Request, Usage

LOOK = 'I look.\n<get path="known://x"/>' + GO_ON
EDIT = "<set path='a.txt'>x</set>" + GO_ON


def kinds(events: list[engine.Event]) -> list[str]:
    return [event["type"] for event in events]


def test_a_prompt_is_queued_for_whoever_drives(db: engine.Database, tmp_path: Path) -> None:
    run = db.start("Go", model=script(tmp_path, DONE), run="demo", max_turns=3)
    assert (run.run, run.status, run.loops, run.turns) == ("demo", 100, 1, 0)
    assert db.result("demo").status == 100
    assert db.resume("demo").status == 200


def test_a_prompt_is_queued_together_with_rows_of_the_app(db: engine.Database, tmp_path: Path) -> None:
    class Refused(Exception):
        pass

    def order() -> None:
        with db.transaction():
            db.start("Go", model=script(tmp_path, DONE), run="demo")
            raise Refused

    with pytest.raises(Refused):
        order()
    assert db.runs() == []


def test_runs_are_listed_the_newest_first(db: engine.Database, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        db.start("Go", model=script(tmp_path, DONE), run=name)
    db.fork("a", "d")
    assert [run.run for run in db.runs()] == ["d", "c", "b", "a"]
    assert [run.run for run in db.runs(limit=2)] == ["d", "c"]
    assert db.runs()[0].parent == "a"


def test_proposals_are_listed_and_say_who_decided(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    for name in ("a", "b"):
        db.run("Go", model=script(tmp_path, EDIT, DONE), run=name, root=workspace_dir)
    assert [(each["run"], each["action"], each["target"]) for each in db.proposals()] == [
        ("a", "set", "a.txt"),
        ("b", "set", "a.txt"),
    ]
    (proposal,) = db.proposals("b")
    db.resolve("b", proposal["path"], accept=True, by="ada")
    assert db.proposals("b") == []
    assert db.value("select decided_by from decisions") == "ada"


def test_the_events_of_a_run_that_has_ended_are_told_and_end(db: engine.Database, tmp_path: Path) -> None:
    db.run("Go", model=script(tmp_path, LOOK, DONE), run="demo")
    events = list(db.events("demo"))
    assert kinds(events) == ["turn", "text", "command", "command", "turn", "command", "loop"]
    ids = [event["id"] for event in events]
    assert ids == sorted(set(ids))
    for number, last in enumerate(ids, 1):
        assert list(db.events("demo", after=last)) == events[number:]


def test_the_events_of_no_run_are_refused_at_once(db: engine.Database) -> None:
    with pytest.raises(engine.NotFound, match="'nobody': there is no such run"):
        db.events("nobody")
    with pytest.raises(TypeError, match="after must be a whole number"):
        db.events("nobody", after="1")  # type: ignore[arg-type]


def test_a_run_is_followed_while_another_thread_drives_it(tmp_path: Path) -> None:
    with fresh() as db:
        db.start("Go", model=script(tmp_path, LOOK, DONE), run="demo")

        def drive() -> None:
            with engine.open(db.path) as other:
                other.resume("demo")

        thread = threading.Thread(target=drive)
        thread.start()
        events = list(db.events("demo"))
        thread.join()
        assert prose_of(events) == {1: "I look."}
        assert [kind for kind in kinds(events) if kind != "text"] == [
            "turn",
            "command",
            "command",
            "turn",
            "command",
            "loop",
        ]


def test_what_is_stored_between_two_looks_of_a_follower_is_told(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.start("Go", model=script(tmp_path, LOOK, LOOK, DONE), run="demo")
    follower = Follower(db, "demo", 0)
    look = follower._stored

    def drive_then() -> list[engine.Event]:
        monkeypatch.undo()
        found = look()
        db.resume("demo")  # before the follower looks for answers
        return found

    monkeypatch.setattr(follower, "_stored", drive_then)
    told = follower.news()
    while not follower.ended:
        told += follower.news()
    assert told == list(db.events("demo"))


def test_the_end_of_a_run_between_two_looks_of_a_follower_is_noticed(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.start("Go", model=script(tmp_path, DONE), run="demo")
    follower = Follower(db, "demo", 0)
    newest = follower._newest

    def drive_then() -> int:
        monkeypatch.undo()
        db.resume("demo")
        return newest()

    monkeypatch.setattr(follower, "_newest", drive_then)
    told = follower.news()
    while not follower.ended:
        assert follower.stirred(), "nothing else will ever happen in the file"
        told += follower.news()
    assert told == list(db.events("demo"))


def test_a_run_is_followed_while_another_process_drives_it(tmp_path: Path) -> None:
    with fresh() as db:
        db.start("Go", model=script(tmp_path, LOOK, DONE), run="demo")
        code = "import engine, sys; engine.open(sys.argv[1]).resume('demo')"
        with subprocess.Popen([sys.executable, "-P", "-c", code, str(db.path)]) as process:
            events = list(db.events("demo"))
        assert process.returncode == 0
        assert kinds(events) == ["turn", "text", "command", "command", "turn", "command", "loop"]


def test_who_follows_waits_while_a_run_waits(tmp_path: Path, workspace_dir: Path) -> None:
    with fresh() as db:
        model = script(tmp_path, EDIT, DONE)
        db.run("Go", model=model, run="demo", root=workspace_dir)
        seen = []
        for event in db.events("demo"):
            seen.append(event["type"])
            if event["type"] == "proposal":
                db.resolve("demo", event["path"], accept=True)
                db.resume("demo")
        assert seen[-1] == "loop"
        assert (workspace_dir / "a.txt").read_text() == "x\n"


def test_a_run_is_not_followed_inside_a_transaction(db: engine.Database, tmp_path: Path) -> None:
    db.start("Go", model=script(tmp_path, DONE), run="demo")
    with db.transaction(), pytest.raises(engine.Conflict, match="cannot be followed inside a transaction"):
        next(db.events("demo"))


def prose_of(events: list[engine.Event]) -> dict[int, str]:
    """The prose of each turn, put together from the events of type text."""
    prose: dict[int, str] = {}
    for event in events:
        if event["type"] == "text":
            prose[event["turn"]] = prose.get(event["turn"], "")[: event["at"]] + event["text"]
    return prose


class Writer:
    """A model that writes its answers in pieces, and fails before those of `failing`."""

    def __init__(self, *answers: list[str], name: str | None = None) -> None:
        self.answers = answers
        if name is not None:
            self.name = name

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        pieces = self.answers[request.position]
        for piece in pieces:
            if on_delta:
                on_delta(piece)
        return Completion("".join(pieces), "", Usage(), "stop")


ANSWERS = {
    "plain prose": "The port is 8080.\n\nIt is set in `config.toml`.",
    "a tag": 'First.\n<get path="a.txt"/>\nThen this.\n<sh>echo "<b>"\nls</sh>Last.',
    "an attribute over lines": 'First.\n<set\n path="known://a"\n>body\nof two lines</set>\nLast.',
    "a comparison": "If a < b and b > c, x[0] is {1}.\nSo it is.",
    "a quotation": "Write `<get path='x'/>` so:\n\n```xml\n<b>bold</b>\n```\n\nDone.",
    "a call in JSON": 'I call.\n{"name": "get",\n "arguments": {"path": "known://a"}}\n\nSaid.',
    "reasoning": "<think>\nI wonder.\nMuch.\n</think>\nIt is so.",
}


@pytest.mark.parametrize("about", ANSWERS)
@pytest.mark.parametrize("length", [1, 3, 7])
def test_prose_that_was_told_stays_and_holds_no_half_tag(db: engine.Database, about: str, length: int) -> None:
    text = ANSWERS[about]
    pieces = [text[start : start + length] for start in range(0, len(text), length)]
    told: list[engine.Event] = []
    db.run("Go", model=Writer(pieces, [DONE]), run="demo", yolo=True, on_event=told.append)
    texts = [event for event in told if event["type"] == "text" and event["turn"] == 1]
    stored = prose_of(list(db.events("demo")))[1]
    assert prose_of(told)[1] == stored
    length_so_far = 0
    for event in texts:
        assert event["type"] == "text"
        assert event["at"] == length_so_far, f"what was told is taken back: {event}"
        length_so_far += len(event["text"])


def test_prose_is_told_as_it_streams() -> None:
    answer = Answer(1)
    seen = []
    for piece in ("Hel", "lo <g", "et path='a'", "/>", " you.\nAnd ", "more"):
        answer.hear(piece)
        seen.append(answer.prose('["get", "set"]'))
    assert seen == ["Hel", "Hello", "Hello", "Hello", "Hello you.\nAnd", "Hello you.\nAnd more"]
    answer.start_over()
    assert answer.prose('["get", "set"]') == ""
    assert settled("") == 0


def test_an_object_is_a_model() -> None:
    with fresh() as db:
        result = db.run("Go", model=Writer(["All ", "said."], ["Again."]), run="demo")
        assert result.answer == "All said."
        assert db.run("Go", run="demo").answer == "Again.", "the run keeps its model"
        stored = db.runs()[0].model
        assert stored is not None
        assert stored.startswith("object:Writer-")
        assert db.run("Go", model=Writer(["Other."]), run="second").answer == "Other."
        assert db.runs()[0].model != stored, "two objects are two models"
    with engine.open(db.path) as later, pytest.raises(engine.NotFound, match="pass it again with model="):
        later.run("Go", run="demo")


def test_an_object_with_a_name_is_known_again() -> None:
    with fresh() as db:
        model = Writer(["One."], ["Two."], name="house")
        assert db.run("Go", model=model, run="demo").status == 200
        assert db.runs()[0].model == "object:house"
        with engine.open(db.path) as later:
            assert later.give_model(model) == "object:house"
            assert later.run("Go", run="demo").answer == "Two."


def test_what_is_no_model_is_a_type_error(db: engine.Database) -> None:
    with pytest.raises(
        TypeError, match=r"model must be a text, or an object with a method complete\(\) or None, not 7"
    ):
        db.run("Go", model=7)  # type: ignore[arg-type]


def test_an_object_answers_in_other_threads_too() -> None:
    with fresh() as db:
        assert asyncio.run(db.run_async("Go", model=Writer(["Said."]))).answer == "Said."


def test_a_run_without_a_folder_runs_no_process(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("42")
    model = script(tmp_path, "<sh>touch here; cat secret.txt</sh>" + GO_ON, EDIT, "<get path='secret.txt'/>")
    before = sorted(tmp_path.iterdir())
    db.run("Go", model=model, run="demo", yolo=True, max_turns=3)
    assert sorted(path for path in tmp_path.iterdir() if "db" not in path.name) == [
        path for path in before if "db" not in path.name
    ]
    rows = db.sql(
        "select action, status, body from run_log where run = 'demo' and turn > 0 and action in ('sh', 'get', 'set')"
    )
    assert [(row["action"], row["status"] // 100) for row in rows] == [("sh", 4), ("set", 4), ("get", 4)]
    assert "this run has no folder, so it cannot run commands" in rows[0]["body"]
    assert db.value("select count(*) from contents where body like '%42%'") == 0


def test_help_lists_the_options() -> None:
    page = pydoc.render_doc(engine.Database.run, renderer=pydoc.plaintext)
    listed = re.findall(r"^ +(\w+)  +\S", page, re.MULTILINE)
    assert listed == list(engine.Options.__annotations__)


def test_importing_the_engine_imports_no_library_for_driving() -> None:
    slow = "asyncio jinja2 lxml typer uuid"
    code = f"import sys, engine; engine.open; print([m for m in '{slow}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_misspelt_name_of_the_module_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'engine' has no attribute 'Reslut'"):
        engine.Reslut  # type: ignore[attr-defined]  # noqa: B018
    assert engine.__version__


class Sleeper:
    """A model that takes its time; it blocks its thread, as a library does."""

    def __init__(self, together: threading.Barrier) -> None:
        self.together = together

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        self.together.wait(timeout=600)
        return Completion("Said.", "", Usage(), "stop")


def test_runs_of_asyncio_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Each model answers only when all 24 have been asked: a pool of fewer threads would never end."""
    together = threading.Barrier(24)

    async def go() -> list[engine.Result]:
        async with await engine.open_async(tmp_path / "a.db") as db:
            return await asyncio.gather(*(db.run_async("Go", model=Sleeper(together)) for _ in range(24)))

    results = asyncio.run(go())
    assert [result.answer for result in results] == ["Said."] * 24
    assert len({result.run for result in results}) == 24, "prompts that come at once are runs of their own"
    audit(tmp_path / "a.db")


def test_threads_that_write_wait_in_line() -> None:
    """SQLite would give up here at once; what another process holds is a matter of its time-out."""
    with fresh() as db:
        begun = threading.Event()

        def write() -> None:
            with engine.open(db.path) as other:
                other.connection.set_busy_timeout(0)
                begun.set()
                other.start("Go", model="scripted:none", run="demo")

        thread = threading.Thread(target=write)
        with db.transaction():
            thread.start()
            begun.wait(60)
            thread.join(0.3)
            assert thread.is_alive(), "it waits"
        thread.join(60)
        assert [run.run for run in db.runs()] == ["demo"]


def test_opening_and_driving_leave_the_event_loop_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop is needed to open the file: what would wait for the file in the loop would wait for ever."""
    opened, freed = threading.Event(), threading.Event()
    plain = engine.Database.__init__

    def slow(self: engine.Database, *args: Any, **options: Any) -> None:
        opened.set()
        assert freed.wait(300), "the event loop was blocked"
        plain(self, *args, **options)

    async def go() -> str:
        monkeypatch.setattr(engine.Database, "__init__", slow)
        opening = asyncio.create_task(engine.open_async(tmp_path / "a.db"))
        while not opened.is_set():
            await asyncio.sleep(0.01)
        freed.set()
        async with await opening as db:
            return (await db.run_async("Go", model=Writer(["Said."]))).answer

    assert asyncio.run(go()) == "Said."


def test_any_method_is_called_in_a_thread_with_a_handle_of_its_own(tmp_path: Path) -> None:
    async def go() -> None:
        async with await engine.open_async(tmp_path / "a.db") as db:

            def start(own: engine.Database) -> engine.Run:
                assert threading.current_thread() is not threading.main_thread()
                assert own is not db
                return own.start("Go", model=Writer(["Said."], name="house"))

            runs = [await db.call_async(start) for _ in range(3)]
            assert (await db.resume_async(runs[2].run)).answer == "Said."
            with pytest.raises(engine.NotFound):
                await db.call_async(lambda own: own.result("nobody"))
            with pytest.raises(engine.Conflict, match="transaction"):
                await db.call_async(lambda own: own.execute("begin immediate"))
            await db.call_async(lambda own: own.execute("update settings set value = value"))
            await db.call_async(lambda own: own.close())
            await db.call_async(start)
        for late in (db.call_async(start), db.resume_async(runs[0].run)):
            with pytest.raises(engine.Conflict, match="is closed"):
                await late
        with pytest.raises(engine.Conflict, match="is closed"):
            db.events_async(runs[0].run)

    asyncio.run(go())
    assert not (tmp_path / "a.db-wal").exists()


def test_a_task_that_is_cancelled_again_and_again_ends_when_its_work_has(tmp_path: Path) -> None:
    """Scopes of anyio, on which web frameworks stand, cancel a task until it has ended."""
    asked = threading.Event()

    class Waiter:
        def complete(
            self,
            request: Request,
            on_delta: Callable[[str], None] | None = None,
            cancelled: threading.Event | None = None,
        ) -> Completion:
            assert cancelled is not None
            asked.set()
            assert cancelled.wait(60), "the call is told to end"
            raise ModelError("aborted", "stopped")

    async def go() -> None:
        async with await engine.open_async(tmp_path / "a.db") as db:
            run = db.start("Go", model=Waiter()).run
            with anyio.move_on_after(60) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(db.resume_async, run)
                    await asyncio.to_thread(asked.wait, 60)
                    scope.cancel()
            assert db.value("select count(*) from leases") == 0, "nobody drives it any more"
            assert db.result(run).status == 102

    asyncio.run(go())
    assert not (tmp_path / "a.db-wal").exists()


def test_a_file_whose_opening_was_cancelled_is_closed(tmp_path: Path) -> None:
    async def go() -> None:
        opening = asyncio.create_task(engine.open_async(tmp_path / "a.db"))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(go())
    assert not (tmp_path / "a.db-wal").exists()


def test_a_run_is_followed_with_asyncio(tmp_path: Path) -> None:
    async def go(db: engine.Database) -> list[engine.Event]:
        db.start("Go", model=script(tmp_path, LOOK, DONE), run="demo")

        async def collect(events: AsyncIterator[engine.Event]) -> list[engine.Event]:
            return [event async for event in events]

        told, result = await asyncio.gather(collect(db.events_async("demo")), db.resume_async("demo"))
        assert result.status == 200
        return told

    with fresh() as db:
        told = asyncio.run(go(db))
        assert prose_of(told) == {1: "I look."}
        assert told[-1]["type"] == "loop"


def test_who_stops_following_leaves_nothing_open() -> None:
    async def go(db: engine.Database) -> None:
        db.start("Go", model="scripted:none", run="demo")
        waiting = asyncio.create_task(anext(aiter(db.events_async("demo"))))
        await asyncio.sleep(0.2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    with fresh() as db:
        asyncio.run(go(db))
        # the thread has told its outcome just before it ends
        wait_until(lambda: "engine" not in [thread.name for thread in threading.enumerate()])


def test_a_database_in_memory_is_not_driven_by_a_thread() -> None:
    with engine.open(":memory:") as db, pytest.raises(engine.ValidationError, match="in memory has only one handle"):
        asyncio.run(db.run_async("Go", model=Writer(["x"])))


def test_following_starts_with_the_last_event_seen(db: engine.Database, tmp_path: Path) -> None:
    db.run("Go", model=script(tmp_path, LOOK, DONE), run="demo")
    first = list(islice(db.events("demo"), 3))
    rest = list(db.events("demo", after=first[-1]["id"]))
    assert first + rest == list(db.events("demo"))
