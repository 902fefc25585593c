"""Limits of time that hold on a busy machine and a slow one too: ten times and more of what an idle one takes.

What else a machine does makes a try longer, never shorter: of several tries the quickest counts. Work is measured by the
processor time of its thread, waiting by the clock on the wall.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

TRIES = 5


def check_cost(seconds: float, work: Callable[[], object]) -> None:
    """Raise `AssertionError` where each try of `work` takes `seconds` of processor time or more."""

    def spent() -> float:
        began = time.thread_time()
        work()
        return time.thread_time() - began

    check_delay(seconds, spent)


def check_delay(seconds: float, delay: Callable[[], float]) -> None:
    """Raise `AssertionError` where each try of `delay`, which returns how long it waited, gives `seconds` or more."""
    took: list[float] = []
    while not took or (took[-1] >= seconds and len(took) < TRIES):
        took.append(delay())
    assert took[-1] < seconds, f"{len(took)} tries took {min(took):.2f} s and more, not under {seconds} s"


def delay_of_cancelling(call: Callable[[threading.Event], object], after_s: float) -> float:
    """Seconds until `call` returns, from the moment when the event that it is given is set: `after_s` from now."""
    cancelled = threading.Event()
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        cancelled.set()

    timer = threading.Timer(after_s, press)
    timer.start()
    call(cancelled)
    timer.join()
    return time.monotonic() - pressed[0]


@contextlib.contextmanager
def slow_signal(handler: Callable[[], object]) -> Iterator[None]:
    """A context in which one signal comes; what takes it calls `handler` and is then busy for longer than any poll waits."""

    def take(*_: object) -> None:
        handler()
        time.sleep(0.5)

    before = signal.signal(signal.SIGALRM, take)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def interrupted(where: Callable[[FrameType, str], object]) -> Iterator[None]:
    """A context with a `KeyboardInterrupt` at the first event of a profiler (`sys.setprofile`) for which `where` is true."""

    def look(frame: FrameType, event: str, _: object) -> None:
        if where(frame, event):
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def ends_despite(work: Callable[[], object], interruption: Callable[[], object], file: str) -> bool:
    """Whether `work` ends although `interruption` comes at each of its lines in `file`, as a signal handler does."""
    lines: list[int] = []

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and frame.f_code.co_filename.endswith(file):
            sys.settrace(None)
            lines.append(frame.f_lineno)
            interruption()
            sys.settrace(trace)
        return trace

    def run() -> None:
        sys.settrace(trace)
        work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert lines, f"it comes through {file}"
    return not thread.is_alive()


def wait_until(claim: Callable[[], object], seconds: float = 300) -> None:
    """Wait until `claim()` is true; raise `AssertionError` after so many seconds."""
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, f"did not come about in {seconds:g} s"
        time.sleep(0.02)
