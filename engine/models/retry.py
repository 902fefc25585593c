"""Repeats a model call after a failure that may pass. The category says how long.

| category | retried for | first wait | longest wait |
|---|---|---|---|
| unreachable | one more call | 1 s | 1 s |
| gateway | 30 s | 0.5 s | 5 s |
| server | 60 s | 1 s | 10 s |
| rate_limit | the deadline | 1 s | 30 s |
| warmup | the deadline | 2 s | 30 s |

Waits double. An error of another category or a final one is raised at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.models.protocol import Completion, Model, ModelError, Request, expect_completion

_SLICE_S = 0.1


@dataclass(frozen=True)
class Policy:
    """How long calls are repeated, and the first and the longest wait, in seconds. `window_s` None means the deadline.

    `most` is how often a call is repeated at most; None: as often as the time allows.
    """

    window_s: float | None
    first_s: float
    longest_s: float
    most: int | None = None

    def wait_s(self, failures: int) -> float:
        """The wait in seconds after this many failures in a row, counted from 1."""
        return min(self.first_s * 2.0 ** min(failures - 1, 32), self.longest_s)


POLICIES = {
    "unreachable": Policy(30.0, 1.0, 1.0, most=1),
    "gateway": Policy(30.0, 0.5, 5.0),
    "warmup": Policy(None, 2.0, 30.0),
    "rate_limit": Policy(None, 1.0, 30.0),
    "server": Policy(60.0, 1.0, 10.0),
}


def complete_with_retry(
    model: Model,
    request: Request,
    on_delta: Callable[[str], None] | None = None,
    cancelled: threading.Event | None = None,
    *,
    deadline_s: float = 600.0,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    on_retry: Callable[[ModelError, int, float], None] | None = None,
) -> Completion:
    """Call `model` until it answers; raise the `ModelError` that is not, or no longer, retried.

    The time of a policy starts at the first failure, so a long call that breaks off is repeated at least once. A
    provider's Retry-After replaces the wait; where the wait would end after that time, the error is raised. Before each
    wait `on_retry` gets the error, the number of failures so far and the wait in seconds; the deltas of the next call begin
    anew. `deadline_s` is the longest time in seconds for all categories.
    """
    failures, first_failure = 0, 0.0
    while True:
        try:
            return expect_completion(model.complete(request, on_delta or _unheard, cancelled or threading.Event()))
        except ModelError as error:
            failures += 1
            first_failure = first_failure if failures > 1 else clock()
            wait = _wait_s(error, failures, clock() - first_failure, deadline_s)
            if wait is None:
                raise
            if on_retry is not None:
                on_retry(error, failures, wait)
            _pause(wait, cancelled, sleep)


def _unheard(_: str) -> None:
    """Where nobody listens."""


def _wait_s(error: ModelError, failures: int, elapsed: float, deadline_s: float) -> float | None:
    """Seconds to wait before the next call; None where the error is not retried."""
    policy = POLICIES.get(error.category)
    if policy is None or error.final or (policy.most is not None and failures > policy.most):
        return None
    wait = policy.wait_s(failures) if error.retry_after_s is None else error.retry_after_s
    window = deadline_s if policy.window_s is None else min(policy.window_s, deadline_s)
    return wait if elapsed + wait <= window else None


def _pause(wait: float, cancelled: threading.Event | None, sleep: Callable[[float], None]) -> None:
    """Sleep in slices of 0.1 s; raises `ModelError` (aborted) soon after `cancelled` is set."""
    slept = 0.0
    while slept < wait:
        if cancelled is not None and cancelled.is_set():
            raise ModelError("aborted", "the call was cancelled while it waited to try again")
        piece = min(_SLICE_S, wait - slept)
        sleep(piece)
        slept += piece
    if cancelled is not None and cancelled.is_set():
        raise ModelError("aborted", "the call was cancelled while it waited to try again")
