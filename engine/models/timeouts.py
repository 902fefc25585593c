"""Runs work that may hang in a thread, while the caller watches the time limit and the cancellation.

A socket without an answer, a name server that is gone, and a loop in C++ cannot be stopped from outside. So the caller does
not do such work itself: it waits for its results, and leaves the thread behind when the time is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from engine.models.protocol import Completion, ModelError
from engine.system.waiting import Inbox

_POLL_S = 0.05

Emit = Callable[[str], None]
Work = Callable[[Emit, threading.Event], Completion]
News = Inbox[str | Completion | BaseException]
"""What comes of a call: pieces of its text, then its completion or its error."""


def watched(
    work: Work,
    *,
    who: str,
    timeout_s: float,
    on_delta: Emit | None = None,
    cancelled: threading.Event | None = None,
) -> Completion:
    """Run ``work(emit, stop)`` in a thread; return its completion or raise its error.

    The text that `work` emits goes to `on_delta` in the caller's thread. When `cancelled` is set or `timeout_s` seconds are
    over, `stop` is set for the thread and `ModelError` (aborted or timeout) is raised; `who` names the model in it. A
    completion that has arrived by then is returned.
    """

    def begin(news: News) -> Callable[[], None]:
        stop = threading.Event()
        threading.Thread(target=_perform, args=(work, news, stop), name=f"model {who}", daemon=True).start()
        return stop.set

    return awaited(begin, who=who, timeout_s=timeout_s, on_delta=on_delta, cancelled=cancelled)


def awaited(
    begin: Callable[[News], Callable[[], None]],
    *,
    who: str,
    timeout_s: float,
    on_delta: Emit | None = None,
    cancelled: threading.Event | None = None,
) -> Completion:
    """`watched` for work that `begin` begins: it puts the news into what it is given, and returns what gives it up."""
    news: News = Inbox()
    give_up = begin(news)
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            item = news.items.popleft() if news.wait(_POLL_S) else None
            if isinstance(item, Completion):
                return item
            if isinstance(item, BaseException):
                raise item
            if item and on_delta is not None:
                began = time.monotonic()
                on_delta(item)
                deadline += time.monotonic() - began  # a slow listener takes nothing of the model's time
            if cancelled is not None and cancelled.is_set():
                raise ModelError("aborted", f"the call of model {who!r} was cancelled")
            if time.monotonic() >= deadline:
                raise late(who, timeout_s)
    finally:
        give_up()


def late(who: str, timeout_s: float) -> ModelError:
    """The error of a model that did not finish within `timeout_s` seconds."""
    return ModelError(
        "timeout", f"model {who!r} did not finish within {timeout_s:g} s; try again, or raise the setting model_timeout"
    )


def _perform(work: Work, news: News, stop: threading.Event) -> None:
    try:
        news.put(work(news.put, stop))
    except BaseException as error:
        # the caller, who waits for it, raises it
        news.put(error)
