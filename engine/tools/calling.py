"""Calls functions for a driver: in threads of their own, async ones in the event loop of the app or of the driver."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from engine.system.loops import app_loop, serve

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_LOOK_SECONDS = 0.1
_JOIN_SECONDS = 1.0


class TookTooLong(Exception):  # noqa: N818 - an outcome, not a defect
    """A call had no result within its time; it may still be at work."""


class GivenUp(Exception):  # noqa: N818 - an outcome, not a defect
    """The driver was stopped while a function worked."""


class Broken(Exception):  # noqa: N818 - an outcome, not a defect
    """A function raised `error`."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Calls:
    """Calls functions until `stopped` is set; `close` ends the event loop that async ones had."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped
        self._own: AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def call(
        self,
        function: Callable[..., Any],
        positional: Sequence[object],
        named: Mapping[str, object],
        timeout_s: float,
        look: Callable[[], None] = lambda: None,
    ) -> object:
        """What `function` returns. Raises `Broken`, `TookTooLong` or `GivenUp`.

        The context variables are those of the caller. A function that does not end in time is left behind. `look` is called
        now and then while it is waited for, and at the end.
        """
        until = time.monotonic() + timeout_s
        try:
            result = self._awaited(self._in_thread(lambda: function(*positional, **named)), until, look)
            if inspect.isawaitable(result):
                result = self._awaited(self._in_loop(result), until, look)
        finally:
            look()
        return result

    def close(self) -> None:
        """End the event loop of async functions, where there was one."""
        loop, thread, self._own, self._thread = self._own, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_JOIN_SECONDS)

    def _awaited(
        self, call: Future[tuple[object, BaseException | None]], until: float, look: Callable[[], None]
    ) -> object:
        while not call.done():
            look()
            left = until - time.monotonic()
            if left <= 0 or self._stopped.is_set():
                call.cancel()
                raise TookTooLong if left <= 0 else GivenUp
            wait([call], timeout=min(left, _LOOK_SECONDS))
        try:
            result, error = call.result()
        except CancelledError as cancelled:  # its loop was ended
            raise Broken(cancelled) from None
        if error is not None:
            raise Broken(error)
        return result

    def _in_thread(self, work: Callable[[], object]) -> Future[tuple[object, BaseException | None]]:
        call: Future[tuple[object, BaseException | None]] = Future()
        context = copy_context()

        def perform() -> None:
            outcome: tuple[object, BaseException | None]
            try:
                outcome = (context.run(work), None)
            except BaseException as error:  # one that ends the app is the function's too
                outcome = (None, error)
            if call.set_running_or_notify_cancel():
                call.set_result(outcome)

        threading.Thread(target=perform, name="engine tool", daemon=True).start()
        return call

    def _in_loop(self, result: Awaitable[object]) -> Future[tuple[object, BaseException | None]]:
        import asyncio

        async def guarded() -> tuple[object, BaseException | None]:
            task = asyncio.current_task()
            try:
                return await result, None
            except asyncio.CancelledError as error:
                if task is not None and task.cancelling():
                    raise
                return None, error
            except BaseException as error:  # asyncio would end the loop with some of them
                return None, error

        return asyncio.run_coroutine_threadsafe(guarded(), self._loop())

    def _loop(self) -> AbstractEventLoop:
        """The loop of the app, unless this thread holds it up; else one of the driver's own."""
        import asyncio

        app = app_loop.get()
        if app is not None and app.is_running() and asyncio._get_running_loop() is not app:
            return app
        if self._own is None:
            self._own = loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=serve, args=(loop,), name="engine tools", daemon=True)
            self._thread.start()
        return self._own
