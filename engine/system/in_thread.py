"""Runs work of the engine in threads of its own for asyncio.

Each piece of work has a thread to itself: driving takes as long as a model takes, so a pool of some threads would make one
run wait for another, and the default pool belongs to the app.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from engine.system.loops import app_loop

T = TypeVar("T")


async def in_thread(
    work: Callable[[], T], *, cancel: Callable[[], None] | None = None, abandon: Callable[[T], None] | None = None
) -> T:
    """The result of `work`, done in a thread with the context variables of the task.

    Where the task is cancelled, `cancel` is called, and the work ends first; `abandon` gets the result that nobody takes.
    A task that is cancelled again meanwhile, as anyio does until it ends, waits all the same.
    """
    context = copy_context()
    context.run(app_loop.set, asyncio.get_running_loop())
    done = asyncio.wrap_future(_started(lambda: context.run(work)))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        if cancel is not None:
            cancel()
        while not done.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        # an error is looked at here, because asyncio reports those that nobody looks at
        if done.exception() is None and abandon is not None:
            abandon(done.result())
        raise


def _started(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()

    def perform() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=perform, name="engine").start()
    return future
