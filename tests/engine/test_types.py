"""The types that an app sees: mypy passes right calls, the example apps among them, and names a misspelt option and a wrong
key of an event.

spec: @python_contract @python_tools @mcp_hooks
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".types" / ".cache"

APP = """\
import threading
from collections.abc import Callable
from typing import assert_never

import engine
from engine import mcp, stream_events
from engine.models.protocol import Completion, Model, Request


def told(event: engine.Event) -> None:
    if event["type"] == "text":
        print(event["turn"], event["text"])
    elif event["type"] == "loop":
        print(event["status"], event["channel"])  # wrong: typeddict-item


def words(event: stream_events.DeltaEvent | stream_events.ThoughtEvent | stream_events.EndEvent) -> str:
    match event:
        case stream_events.DeltaEvent(text=text) | stream_events.ThoughtEvent(text=text):
            return text.upper()
        case stream_events.EndEvent(result=result):
            print(result.answr)  # wrong: attr-defined
            return ""
    assert_never(event)


def forgotten(event: engine.StreamEvent) -> None:
    match event:
        case stream_events.TextEvent():
            print(event.at)
        case _:
            assert_never(event)  # wrong: arg-type


async def watched(db: engine.Database) -> None:
    for event in db.stream("Hi", temprature=0.5):  # wrong: call-arg
        forgotten(event)
    stream = db.stream("Which port?", output=int)
    if stream.result is not None:
        print(stream.result.output.upper())  # wrong: attr-defined
    async for each in db.stream("Hi"):
        print(each.run.upper(), each.id + 1)


def decide(proposal: engine.Proposal) -> bool | None:
    print(proposal["detial"])  # wrong: typeddict-item
    return True if proposal["kind"] == "process" else None


@engine.tool
def trains(town: str) -> int:
    return len(town)


@engine.tool(ask=True)
async def book(train: str) -> None: ...


class Short:
    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event) -> Completion:
        return Completion("Said.")


class Late:
    async def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event) -> Completion:
        return Completion("Said.")


def models() -> list[Model]:
    return [Short(), Late()]  # wrong: list-item


async def token() -> str:
    return "token"


def again(refused: mcp.Token) -> dict[str, str]:
    return {"X-Api-Key": str(refused)}


def logged(log: mcp.Log) -> None:
    print(log.server, log.level, log.text)


async def use(db: engine.Database, model: Model) -> engine.Result:
    run: engine.Run = db.start("Hi", model=model, max_turns=3, root=".")
    for event in db.events(run.run, after=3):
        told(event)
    async for event in db.events_async(run.run):
        told(event)
    options: engine.Options = {"mode": "ask", "yolo": True}
    db.run("Hi", on_event=told, on_proposal=decide, **options)
    db.run("Hi", modle="x")  # wrong: call-arg
    db.run("Hi", mode="play")  # wrong: arg-type
    await db.run_async("Hi", max_turns="3")  # wrong: arg-type
    db.start("Hi", rot=".")  # wrong: call-arg
    run = await db.call_async(lambda db: db.start("Hi", no_processes=True))
    print((await db.call_async(lambda db: db.runs())).run)  # wrong: attr-defined
    await db.call_async(lambda db: db.strat("Hi"))  # wrong: attr-defined
    trains(3)  # wrong: arg-type
    engine.open("a.db", tools=[trains, book])
    server = mcp.Server("a", ["b"], auth=token, refresh=again, on_log=logged, on_request=lambda _: None)
    mcp.Server("a", ["b"], on_log=lambda log: log.txet)  # wrong: attr-defined
    mcp.Server("a", ["b"], on_request=3)  # wrong: arg-type
    engine.open("a.db", mcp=[server])
    with mcp.connect(server) as registry:
        print(registry.call("a", "tool", {"n": 1}).upper(), registry.search("words", "tool")[0].name)
        registry.items("tol")  # wrong: arg-type
    engine.Reslut  # wrong: attr-defined
    return await db.resume_async(run.run, on_event=told)
"""


@pytest.mark.slow
def test_a_type_checker_names_wrong_calls_and_no_others(tmp_path: Path) -> None:
    package = tmp_path / "types" / "engine"
    package.mkdir(parents=True)
    for source in [*(ROOT / "engine").iterdir(), *(ROOT / name for name in ("functions", "sql", "templates"))]:
        (package / source.name).symlink_to(source)
    app = tmp_path / "app.py"
    app.write_text(APP, encoding="utf-8")
    examples = [ROOT / "tests" / "examples" / name for name in ("web/app.py", "tracker/tracker.py")]
    copies = [tmp_path / path.name.replace("app", "web") for path in examples]
    for path, copy in zip(examples, copies, strict=True):
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    # what `make check` found out about the engine, with the same settings, is not found out again
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(CACHE), str(app), *map(str, copies)],
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(package.parent)},
        cwd=ROOT,
    )
    found = set(re.findall(r"(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE))
    lines = enumerate(APP.splitlines(), 1)
    assert found == {("app", str(n), line.split("wrong: ")[1]) for n, line in lines if "wrong: " in line}, (
        done.stdout + done.stderr
    )
