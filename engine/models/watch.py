"""Work that may hang, done in a thread while the caller watches the clock and the cancel button.

A socket that is never answered, a name server that is gone and a C++ loop have one thing in common: they
cannot be stopped from outside. So the caller never does such work itself; it waits for news of it and walks
away in time.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from engine.models.protocol import Completion, ModelError

_POLL_S = 0.05

Emit = Callable[[str], None]
Work = Callable[[Emit, threading.Event], Completion]


def watched(
    work: Work,
    *,
    who: str,
    timeout_s: float,
    on_delta: Emit | None = None,
    cancelled: threading.Event | None = None,
) -> Completion:
    """Run ``work(emit, stop)`` in a thread; return its completion or raise its error.

    What `work` emits goes to `on_delta` in the caller's thread. When `cancelled` is set or `timeout_s`
    seconds are over, `stop` is set, the thread is left to notice it, and `ModelError` (aborted or timeout)
    is raised; `who` names the model in it. A completion that has already arrived is returned, however late.
    """
    news: queue.SimpleQueue[str | Completion | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_perform, args=(work, news, stop), name=f"model {who}", daemon=True).start()
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            item = _next(news)
            if isinstance(item, Completion):
                return item
            if isinstance(item, BaseException):
                raise item
            if item and on_delta is not None:
                on_delta(item)
            if cancelled is not None and cancelled.is_set():
                raise ModelError("aborted", f"the call of model {who!r} was cancelled")
            if time.monotonic() >= deadline:
                raise late(who, timeout_s)
    finally:
        stop.set()


def late(who: str, timeout_s: float) -> ModelError:
    """The error of a model that did not finish within `timeout_s` seconds."""
    return ModelError(
        "timeout", f"model {who!r} did not finish within {timeout_s:g} s; try again, or allow it more time"
    )


def _perform(work: Work, news: queue.SimpleQueue[str | Completion | BaseException], stop: threading.Event) -> None:
    try:
        news.put(work(news.put, stop))
    except BaseException as error:
        # The thread has no one to raise to: its caller is the one who waits at the other end of the queue.
        news.put(error)


def _next(
    news: queue.SimpleQueue[str | Completion | BaseException],
) -> str | Completion | BaseException | None:
    try:
        return news.get(timeout=_POLL_S)
    except queue.Empty:
        return None
