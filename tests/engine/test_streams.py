"""Streams: typed events of a prompt while it is driven, for `for` and `async for`.

1. The events of a stream are those of `on_event`, between a start and an end, each of its class. 2. Leaving the loop in any
way ends the prompt at 499, its child runs and its processes too, and leaves queued prompts. 3. A slow reader holds the
driver up, and no more than some events wait. 4. A reader decides on what waits; an undecided stream ends at 202.

spec: @streams @typed_events @on_event
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from delegating import Cast, gives
from driving import DONE, GO_ON, script
from timing import wait_until

import engine
from engine import events, stream_events
from engine.models.protocol import Completion, ModelError, Request, Thought
from engine.stream_events import (
    CommandEvent,
    DeltaEvent,
    EndEvent,
    OutputEvent,
    ProposalEvent,
    StartEvent,
    StreamEvent,
    ThoughtEvent,
    TurnEvent,
)

ECHO = f"<sh>echo hello</sh>{GO_ON}"
PARTS = gives("First", "Second")


class Talker:
    """A model that says a piece of text and counts the pieces, until it is cancelled or has said all."""

    def __init__(self, pieces: int, thoughts: int = 0) -> None:
        self.name = "talker"
        self.pieces, self.thoughts = pieces, thoughts
        self.said = 0
        self.was_cancelled = False

    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event) -> Completion:
        for _ in range(self.thoughts):
            on_delta(Thought("hm "))
        for _ in range(self.pieces):
            if cancelled.is_set():
                self.was_cancelled = True
                break
            on_delta(f"word {self.said} ")
            self.said += 1
        return Completion("".join(f"word {n} " for n in range(self.said)), "hm " * self.thoughts)


class Silent:
    """A model that says nothing until it is cancelled."""

    def __init__(self) -> None:
        self.name = "silent"
        self.asked = threading.Event()

    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event) -> Completion:
        self.asked.set()
        cancelled.wait(60)
        raise ModelError("aborted", "the call was cancelled")


def end(found: list[StreamEvent]) -> engine.Result:
    last = found[-1]
    assert isinstance(last, EndEvent)
    return last.result


def status(db: engine.Database, run: str) -> int:
    return db.result(run).status


def without_ids(told: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in told.items()
        if key not in ("id", "run", "context_tokens", "cost", "body", "ceiling")
    }


# 1. the events


def test_a_stream_gives_the_events_of_on_event_between_a_start_and_an_end(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    told: list[Any] = []
    answers = ({"text": ECHO, "reasoning": "I echo."}, DONE)
    db.run("Echo", run="told", model=script(tmp_path, *answers), root=workspace_dir, yolo=True, on_event=told.append)
    stream = db.stream("Echo", run="read", model=script(tmp_path, *answers), root=workspace_dir, yolo=True)
    first, *between, last = list(stream)
    assert isinstance(first, StartEvent)
    assert (first.run, first.loop, first.version) == ("read", 1, events.VERSION)
    assert [without_ids(event.to_dict()) for event in between] == [without_ids(event) for event in told]
    assert isinstance(last, EndEvent)
    assert last.result == db.result("read") == stream.result
    assert stream.run == "read"
    assert {type(event).__name__ for event in between} >= {"ThoughtEvent", "DeltaEvent", "OutputEvent", "LoopEvent"}


def test_asyncio_reads_the_same_events(db: engine.Database, tmp_path: Path) -> None:
    async def read(run: str) -> list[StreamEvent]:
        return [event async for event in db.stream("Do", run=run, model=script(tmp_path, DONE))]

    found = asyncio.run(read("async"))
    twin = list(db.stream("Do", run="sync", model=script(tmp_path, DONE)))
    assert [type(event) for event in found] == [type(event) for event in twin]
    assert end(found).answer == end(twin).answer == "Done."


def test_each_dict_has_one_class_with_its_keys() -> None:
    for kind in get_args(events.StreamDict):
        keys = {**dict.fromkeys(kind.__annotations__, 1), "id": 5}
        name = kind.__name__.removesuffix("Dict") + "Event"
        keys["type"] = kind.__name__.removesuffix("Dict").lower()
        event = stream_events.typed(keys, "demo")  # type: ignore[arg-type]
        assert type(event).__name__ == name
        assert event.run == 1
        if name != "EndEvent":
            assert event.to_dict() == keys
            assert json.loads(event.to_json()) == keys
    assert len(get_args(stream_events.StreamEvent)) == len(get_args(events.StreamDict))


def test_thoughts_are_told_while_they_arrive_and_are_no_text(db: engine.Database) -> None:
    found = list(db.stream("Think", run="demo", model=Talker(2, thoughts=3)))
    assert [event.text for event in found if isinstance(event, ThoughtEvent)] == ["hm "] * 3
    assert "".join(event.text for event in found if isinstance(event, DeltaEvent)) == "word 0 word 1 "
    assert end(found).answer == "word 0 word 1"


def test_children_tell_with_their_names(db: engine.Database) -> None:
    found = list(db.stream("Split", run="demo", model=Cast({"demo": [PARTS]}), max_depth=1))
    assert {event.run for event in found if isinstance(event, TurnEvent)} == {"demo", "demo-1", "demo-2"}
    assert end(found).run == "demo"


def test_what_keeps_a_run_from_starting_is_raised_at_the_first_event(db: engine.Database) -> None:
    stream = db.stream("Do", model="nobody/nothing")
    with pytest.raises(engine.NotFound, match="nobody"):
        next(iter(stream))
    with pytest.raises(TypeError, match="'colour'"):
        list(db.stream("Do", colour="red"))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="needs a prompt"):
        list(db.stream())
    assert db.runs() == []


def test_nothing_begins_before_a_stream_is_read_and_it_is_read_once(db: engine.Database, tmp_path: Path) -> None:
    stream = db.stream("Do", run="demo", model=script(tmp_path, DONE))
    assert db.runs() == []
    list(stream)
    with pytest.raises(engine.Conflict, match="was already read"):
        next(iter(stream))
    with db.transaction(), pytest.raises(engine.Conflict):
        db.stream("Do")


# 2. leaving


def test_break_ends_the_prompt_and_leaves_the_queue(db: engine.Database) -> None:
    model = Silent()
    for event in db.stream("Wait", run="demo", model=model):
        if isinstance(event, TurnEvent):
            db.start("Next", run="demo")
            break
    assert db.rows("select loop, status from loop_list where run = 'demo' order by loop") == [
        {"loop": 1, "status": 499},
        {"loop": 2, "status": 100},
    ]
    assert db.result("demo", 1).reason == "the reader of the stream left"
    assert db.rows("select * from leases") == []


def test_an_exception_ends_the_prompt(db: engine.Database) -> None:
    def read() -> None:
        for event in db.stream("Wait", run="demo", model=Silent()):
            if isinstance(event, TurnEvent):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read()
    assert status(db, "demo") == 499


def test_leaving_at_the_first_event_ends_the_prompt(db: engine.Database) -> None:
    for _ in db.stream("Wait", run="demo", model=Silent()):
        break
    assert status(db, "demo") == 499


def test_a_cancelled_task_ends_the_prompt(db: engine.Database) -> None:
    model = Silent()

    async def read() -> None:
        async for _ in db.stream("Wait", run="demo", model=model):
            pass

    async def main() -> int:
        task = asyncio.create_task(read())
        await asyncio.to_thread(model.asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return status(db, "demo")

    assert asyncio.run(main()) == 499


def test_break_out_of_async_for_ends_the_prompt(db: engine.Database) -> None:
    async def main() -> None:
        async for event in db.stream("Wait", run="alone", model=Silent()):
            if isinstance(event, TurnEvent):
                break
        async with db.stream("Wait", run="inside", model=Silent()) as stream:
            async for event in stream:
                if isinstance(event, TurnEvent):
                    break
        assert status(db, "inside") == 499

    asyncio.run(main())  # it closes the iterators that are left
    wait_until(lambda: status(db, "alone") == 499)


def test_leaving_ends_child_runs_and_processes(db: engine.Database, workspace_dir: Path) -> None:
    sleeps = ["<sh>echo up; sleep 600</sh>"]
    model = Cast({"demo": [PARTS], "demo-1": sleeps, "demo-2": sleeps})
    began = time.monotonic()
    given: dict[str, Any] = {"root": workspace_dir, "yolo": True, "sandbox": "off", "max_depth": 1}
    for event in db.stream("Split", run="demo", model=model, **given):
        if isinstance(event, OutputEvent):
            break
    assert time.monotonic() - began < 50
    assert db.value("select count(*) from loops where status in (100, 102, 202)") == 0
    assert db.value("select count(*) from effects where state in ('pending', 'started')") == 0
    assert db.value("select count(*) from runs where status = 499") == 3


def test_a_stream_that_is_left_after_its_end_changes_nothing(db: engine.Database, tmp_path: Path) -> None:
    for event in db.stream("Do", run="demo", model=script(tmp_path, DONE)):
        if isinstance(event, EndEvent):
            break
    assert status(db, "demo") == 200


# 3. a slow reader


def test_a_slow_reader_holds_the_driver_up(db: engine.Database) -> None:
    model = Talker(5_000)
    seen = 0
    for event in db.stream("Talk", run="demo", model=model, max_turns=1):
        seen += isinstance(event, DeltaEvent)
        if seen == 10:
            wait_until(lambda: model.said > 10)
            time.sleep(0.2)
            break
    assert 10 < model.said <= 50
    assert model.was_cancelled


def test_all_that_is_told_is_read_in_its_order(db: engine.Database) -> None:
    found = list(db.stream("Talk", run="demo", model=Talker(1_000)))
    assert sum(isinstance(event, DeltaEvent) for event in found) == 1_000
    ids = [event.id for event in found]
    assert ids == sorted(ids)


# 4. decisions


def test_a_reader_decides_and_goes_on(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    found = []
    for event in db.stream("Echo", run="demo", model=script(tmp_path, ECHO, ECHO, DONE), root=workspace_dir):
        found.append(event)
        if isinstance(event, ProposalEvent):
            time.sleep(0.1)
            db.resolve(event.run, event.path, accept=True)
    assert sum(isinstance(event, ProposalEvent) for event in found) == 2
    assert end(found).status == 200
    assert sum(isinstance(event, StartEvent) for event in found) == 1


def test_an_undecided_stream_ends_waiting_and_another_goes_on(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    found = list(db.stream("Echo", run="demo", model=script(tmp_path, ECHO, DONE), root=workspace_dir))
    assert end(found).status == 202
    assert [proposal["path"] for proposal in db.proposals("demo")] == ["log://turn_1/sh/echo_hello"]
    db.resolve("demo", accept=True)
    found = list(db.stream(run="demo"))
    assert isinstance(found[0], StartEvent)
    assert found[0].loop == 1
    assert end(found).answer == "Done."


def test_on_proposal_decides_in_a_stream(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def decide(proposal: engine.Proposal) -> bool:
        asked.append(proposal["path"])
        return True

    model = script(tmp_path, ECHO, DONE)
    found = list(db.stream("Echo", run="demo", model=model, root=workspace_dir, on_proposal=decide))
    assert end(found).status == 200
    assert len(asked) == 1
    assert any(isinstance(event, CommandEvent) and event.action == "sh" for event in found)


def test_an_error_of_a_callback_is_raised_by_the_stream(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    def decide(proposal: engine.Proposal) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(db.stream("Echo", run="demo", model=script(tmp_path, ECHO), root=workspace_dir, on_proposal=decide))
    assert status(db, "demo") == 202


def test_many_streams_are_read_at_once(db: engine.Database, tmp_path: Path) -> None:
    async def read(number: int) -> int:
        found = [event async for event in db.stream("Do", run=f"r{number}", model=script(tmp_path, GO_ON, DONE))]
        return end(found).turns

    async def main() -> list[int]:
        return await asyncio.gather(*map(read, range(10)))

    assert asyncio.run(main()) == [2] * 10


def test_the_end_has_the_object_that_was_asked_for(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    answer = '<update status="200">{"port": 8080}</update>'
    stream = db.stream("Which?", run="demo", model=script(tmp_path, answer), output=dict[str, int])
    found = list(stream)
    assert stream.result is not None
    assert stream.result.output == end(found).output == {"port": 8080}
    stream = db.stream(
        "Then?", run="late", model=script(tmp_path, ECHO, answer), root=workspace_dir, output=dict[str, int]
    )
    for event in stream:
        if isinstance(event, ProposalEvent):
            db.resolve(event.run, event.path, accept=True)
    assert stream.result is not None
    assert stream.result.output == {"port": 8080}
