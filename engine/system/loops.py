"""Event loops: that of the app in which a run is driven, where there is one, and those of threads of our own."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

app_loop: ContextVar[AbstractEventLoop | None] = ContextVar("app_loop", default=None)
"""Set in the threads that work for asyncio."""


def serve(loop: AbstractEventLoop) -> None:
    """Run an event loop in its thread until it is stopped; what is under way then is cancelled, and the loop closed."""
    import asyncio

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
