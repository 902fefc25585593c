"""Retrying by category, on a clock that only sleeping moves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from engine.models.protocol import STATUS_BY_CATEGORY, Completion, Message, ModelError, Request, Usage
from engine.models.retry import POLICIES, complete_with_retry

REQUEST = Request((Message("user", "hello"),), None, None, None, 10.0, 0, "demo")
ANSWER = Completion("done", "", Usage(), "stop")


@dataclass
class Clock:
    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Failing:
    """A model that fails as told, then answers; `takes` seconds of the clock pass in each call."""

    clock: Clock
    errors: list[ModelError]
    takes: float = 0.0
    calls: int = 0

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        self.calls += 1
        self.clock.now += self.takes
        if self.errors:
            raise self.errors.pop(0)
        return ANSWER


def run(model: Failing, **options: object) -> tuple[Completion, list[float]]:
    waits: list[float] = []
    completion = complete_with_retry(
        model,
        REQUEST,
        sleep=model.clock.sleep,
        clock=model.clock,
        on_retry=lambda error, failures, wait: waits.append(wait),
        **options,  # type: ignore[arg-type]
    )
    return completion, waits


def failing(category: str, times: int, **options: float) -> Failing:
    return Failing(Clock(), [ModelError(category, "no", **options) for _ in range(times)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("category", "waits"),
    [
        ("gateway", [0.5, 1, 2, 4, 5, 5]),
        ("server", [1, 2, 4, 8, 10, 10]),
        ("rate_limit", [1, 2, 4, 8, 16, 30]),
        ("warmup", [2, 4, 8, 16, 30, 30]),
    ],
)
def test_waits_double_up_to_the_longest(category: str, waits: list[float]) -> None:
    completion, waited = run(failing(category, 6))
    assert completion is ANSWER
    assert waited == waits


@pytest.mark.parametrize(
    ("category", "window"), [("gateway", 30), ("server", 60), ("warmup", 600), ("rate_limit", 600)]
)
def test_retrying_ends_with_the_window(category: str, window: float) -> None:
    model = failing(category, 1000)
    with pytest.raises(ModelError) as caught:
        run(model)
    assert caught.value.category == category
    elapsed = model.clock.now - 1000.0
    assert window - POLICIES[category].longest_s < elapsed <= window + 1e-6


def test_a_server_that_cannot_be_reached_is_asked_twice() -> None:
    model = failing("unreachable", 2)
    with pytest.raises(ModelError, match="no"):
        run(model)
    assert (model.calls, model.clock.now - 1000.0) == (2, pytest.approx(1.0))
    assert run(failing("unreachable", 1))[1] == [1.0]


@pytest.mark.parametrize("category", sorted(set(STATUS_BY_CATEGORY) - set(POLICIES)))
def test_other_failures_are_not_retried(category: str) -> None:
    model = failing(category, 1)
    with pytest.raises(ModelError):
        run(model)
    assert model.calls == 1


def test_a_final_error_is_not_retried() -> None:
    model = Failing(Clock(), [ModelError("rate_limit", "scripted", final=True)])
    with pytest.raises(ModelError, match="429 scripted"):
        run(model)
    assert model.calls == 1


def test_retry_after_replaces_the_wait() -> None:
    assert run(failing("rate_limit", 2, retry_after_s=7.0))[1] == [7.0, 7.0]
    assert run(failing("rate_limit", 1, retry_after_s=0.0))[1] == [0.0]


def test_a_retry_after_beyond_the_window_is_not_waited_for() -> None:
    model = failing("rate_limit", 1, retry_after_s=601.0)
    with pytest.raises(ModelError):
        run(model)
    assert model.clock.now == 1000.0


def test_a_long_call_that_breaks_off_is_asked_again() -> None:
    model = Failing(Clock(), [ModelError("gateway", "reset")], takes=120.0)
    assert run(model)[0] is ANSWER
    assert model.calls == 2


def test_the_deadline_shortens_every_window() -> None:
    model = failing("server", 1000)
    with pytest.raises(ModelError):
        run(model, deadline_s=5.0)
    assert model.clock.now <= 1005.0


def test_cancelling_ends_the_wait_at_once() -> None:
    cancelled = threading.Event()
    clock = Clock()
    model = Failing(clock, [ModelError("warmup", "loading")])

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now >= 1001.0:
            cancelled.set()

    with pytest.raises(ModelError) as caught:
        complete_with_retry(model, REQUEST, None, cancelled, sleep=sleep, clock=clock)
    assert caught.value.category == "aborted"
    assert clock.now < 1001.2
    assert model.calls == 1
