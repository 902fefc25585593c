"""A response that repeats itself is cut while it arrives, judged, and told.

spec: @stuck_responses
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from driving import DONE

import engine
from engine import plugins
from engine.models.protocol import Completion, ModelError, Request, Usage


class Stutterer:
    """A model that says one sentence over and over, until it is cut off or has said it `most` times; then it is well."""

    def __init__(self, most: int = 100_000) -> None:
        self.most = most
        self.said = 0

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        if request.position > 0:
            return Completion(DONE, "", Usage(), "stop")
        text = '<set path="known://a">'
        while self.said < self.most:
            self.said += 1
            piece = "I should look at the file again. "
            text += piece
            if on_delta:
                on_delta(piece)
            if cancelled and cancelled.is_set():
                raise ModelError("aborted", "the call was cancelled")
        return Completion(text, "", Usage(prompt_tokens=5, completion_tokens=7), "length")

    @plugins.hookimpl
    def engine_model(self, name: str) -> Stutterer | None:
        return self if name == "stutterer" else None


@pytest.fixture
def stutterer() -> Iterator[Stutterer]:
    model = Stutterer()
    plugins.manager().register(model)
    yield model
    plugins.manager().unregister(model)


def test_the_call_is_cut_off_and_the_loop_goes_on(db: engine.Database, stutterer: Stutterer) -> None:
    result = db.run("Go", model="stutterer", run="demo")
    assert (result.status, result.turns) == (200, 2)
    assert stutterer.said < 100, "some 2,000 characters are enough"
    first = db.row("select response, completion_tokens, streak, status from turns where sequence = 1")
    assert first is not None
    assert first["response"].startswith("I should look")
    assert (first["completion_tokens"], first["streak"], first["status"]) == (None, 1, 102)
    assert db.value("select count(*) from known_entries where path = 'known://a'") == 0
    assert "was stuck" in db.value("select body from packet_texts where turn = 2 and role = 'user'")


def test_one_that_ran_to_its_end_is_judged_alike(db: engine.Database, stutterer: Stutterer) -> None:
    stutterer.most = 70
    db.run("Go", model="stutterer", run="demo", on_event=None)
    assert db.value("select count(*) from turn_errors where slug = 'repetition'") == 1
    assert db.value("select count(*) from known_entries where path = 'known://a'") == 0


def test_a_stop_is_no_repetition(db: engine.Database, stutterer: Stutterer) -> None:
    drivers = []

    def stop(event: dict[str, object]) -> None:
        if event["type"] == "delta":
            drivers[0].stop()

    result = db.run("Go", model="stutterer", run="demo", on_event=stop, on_driver=drivers.append)
    assert result.status == 102
    assert stutterer.said == 1
