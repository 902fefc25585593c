"""What an app does wrong is told in one line, and spoils nothing: wrong values, closed and inherited handles, models.

spec: @wrong_arguments @async_contract @models_protocol
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from fresh import fresh

import engine
from engine.models.protocol import Completion, Request

WRONG: dict[str, tuple[type[Exception], Callable[[engine.Database], object]]] = {
    "by must be a text, not None": (TypeError, lambda db: db.resolve("demo", accept=True, by=None)),  # type: ignore[arg-type]
    "'modle' is not an option; did you mean mode or model": (TypeError, lambda db: db.run("x", modle="y")),  # type: ignore[call-arg]
    "work must be a function, not 3": (TypeError, lambda db: db.call_async(3)),  # type: ignore[arg-type]
    "limit must be 0 or more, or None for all, not -1": (engine.ValidationError, lambda db: db.runs(limit=-1)),
    "run 'nobody': there is no such run": (engine.NotFound, lambda db: db.proposals("nobody")),
    "run 'demo': has no prompt 9; it had 1": (engine.NotFound, lambda db: db.result("demo", 9)),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_value_is_told_where_it_comes_in(db: engine.Database, tmp_path: Path, said: str) -> None:
    db.start("Go", model=script(tmp_path, DONE), run="demo")
    kind, call = WRONG[said]
    with pytest.raises(kind, match=said):
        call(db)
    assert db.resume("demo").status == 200


class Odd:
    """A model that answers with something else."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.name = "odd"

    def complete(self, request: Request, *_: object) -> Completion:
        answer: Completion = self.answer()
        return answer


async def coroutine() -> Completion:
    return Completion("x")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: "hi", "returned 'hi'; return a Completion"),
        (lambda: None, "returned None"),
        (lambda: Completion(7), "return a Completion"),  # type: ignore[arg-type]
        (coroutine, r"complete\(\) is a coroutine; make it a plain function"),
    ],
)
def test_what_is_no_completion_is_told_and_the_run_goes_on(
    db: engine.Database, answer: Callable[[], Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        db.run("Go", model=Odd(answer), run="demo")
    assert db.result("demo").status == 102
    db.give_model(Odd(lambda: Completion("Said.")))
    assert db.resume("demo").answer == "Said."


def test_who_follows_is_told_that_the_file_was_closed(tmp_path: Path) -> None:
    async def go() -> None:
        db = await engine.open_async(tmp_path / "a.db")
        run = db.start("Go", model="scripted:none").run
        following = asyncio.create_task(anext(aiter(db.events_async(run))))
        await asyncio.sleep(0.2)
        await db.close_async()
        with pytest.raises(engine.Conflict, match="is closed; open it again"):
            await following

    asyncio.run(go())
    assert not (tmp_path / "a.db-wal").exists()


def test_a_run_that_is_awaited_outlives_its_handle(tmp_path: Path) -> None:
    asked, free = threading.Event(), threading.Event()

    def answer() -> Completion:
        asked.set()
        assert free.wait(60)
        return Completion("Said.")

    async def go() -> engine.Result:
        db = await engine.open_async(tmp_path / "a.db")
        driving = asyncio.create_task(db.run_async("Go", model=Odd(answer)))
        await asyncio.to_thread(asked.wait, 60)
        await asyncio.gather(*(db.close_async() for _ in range(5)))
        free.set()
        return await driving

    assert asyncio.run(go()).answer == "Said."
    assert not (tmp_path / "a.db-wal").exists()


def test_an_event_loop_that_ends_stops_what_it_drives(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": DONE, "delay_s": 600}, DONE)

    async def go(db: engine.Database) -> None:
        for name in ("a", "b"):
            asyncio.get_running_loop().create_task(db.run_async("Go", model=model, run=name))
        async for event in db.events_async("a"):  # until one is driven
            if event["type"] == "turn":
                return

    with fresh() as db:
        db.start("Wait", model=model, run="a")
        asyncio.run(go(db))
        assert db.value("select count(*) from leases") == 0
        assert db.result("a", 1).status == 102


def test_a_handle_is_not_used_by_a_forked_process(tmp_path: Path) -> None:
    with fresh() as db:
        db.start("Go", model=script(tmp_path, GO_ON, DONE), run="demo")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # nothing of pytest runs here
            try:
                db.runs()
                said = "it was used"
            except engine.Conflict as error:
                said = str(error)
            db.close()
            with engine.open(db.path) as own:
                said += f"; {own.resume('demo').status}"
            os.write(writing, said.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            assert told.read() == (
                f"409 {db.path}: was opened before this process was forked; open it again in this process; 200"
            )
        os.waitpid(child, 0)
        assert db.result("demo").status == 200
