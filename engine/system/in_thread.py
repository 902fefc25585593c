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
    done = asyncio.wrap_future(started(work, asyncio.get_running_loop()))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        if cancel is not None:
            cancel()
        await ended(done)
        # an error is looked at here, because asyncio reports those that nobody looks at
        if done.exception() is None and abandon is not None:
            abandon(done.result())
        raise


async def ended(done: asyncio.Future[T]) -> None:
    """Return when `done` has its result or its error, however often the task is cancelled meanwhile."""
    while not done.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([done])


def started(work: Callable[[], T], loop: asyncio.AbstractEventLoop | None = None) -> Future[T]:
    """What becomes of `work`, begun in a thread with the context variables of the caller; `loop` is that of the app."""
    future: Future[T] = Future()
    context = copy_context()
    if loop is not None:
        context.run(app_loop.set, loop)

    def perform() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=perform, name="engine").start()
    return future
