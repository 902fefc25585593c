"""Gives the events of a prompt while it is driven, to a `for` or an `async for`: whoever leaves the loop cancels the prompt.

The run is driven in a thread, and never far ahead of its reader.

spec: @streams
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, cast

from engine.contract import T
from engine.driving import runs
from engine.driving.results import start_event
from engine.errors import Conflict
from engine.stream_events import EndEvent, StartEvent, typed
from engine.system.in_thread import ended, started

from .pipe import Pipe

if TYPE_CHECKING:
    from concurrent.futures import Future

    from engine.api.database import Database
    from engine.contract import OnDriver, Options, Result
    from engine.driving.loop import Driver
    from engine.events import Event, OnEvent
    from engine.stream_events import StreamEvent

    Begin = Callable[[Database, OnEvent, OnDriver, str | None], Result]

_MOST = 32
"""The events that wait for the reader at most; the driver waits then."""
_NEWEST = "select coalesce(max(id), 0) from events"
_LEFT = "the reader of the stream left"


def beginning(
    prompt: str | None,
    run: str | None,
    options: Options,
    **for_driving: Any,
) -> Begin:
    """What gives a prompt to a run and drives it or, without a prompt, drives the run on; the second time it goes on.

    `for_driving` is what `run` and `resume` take besides: on_proposal, keep_output, context, output.
    """
    given: dict[str, Any] = {**for_driving, **options}

    def begin(db: Database, on_event: OnEvent, on_driver: OnDriver, waits: str | None) -> Result:
        callbacks: dict[str, Any] = {"on_event": on_event, "on_driver": on_driver}
        if waits is not None:
            return db.resume(waits, tools=options.get("tools"), **for_driving, **callbacks)
        if prompt is not None:
            return db.run(prompt, run=run, **given, **callbacks)
        if run is None:
            raise TypeError("stream() needs a prompt, or run= with the name of an unfinished run")
        return db.resume(run, **given, **callbacks)

    return begin


class Stream(Generic[T]):
    """The events of one prompt, for one `for` or `async for`. `with` and `async with` close it at the end of the block.

    After the first event, `run` is the name of the run. After the last event, `result` is the same as from
    `Database.run`. `close` and `aclose` cancel the prompt if it has not ended.
    """

    def __init__(self, db: Database, begin: Begin) -> None:
        self.run: str | None = None
        self.result: Result[T] | None = None
        self._db = db
        self._begin = begin
        self._pipe: Pipe[StreamEvent] | None = None
        self._done: Future[None] | None = None
        self._drivers: list[Driver] = []
        self._loop: int | None = None

    def __iter__(self) -> Iterator[StreamEvent]:
        pipe = self._start(_nothing)
        try:
            while True:
                if (event := pipe.take()) is not None:
                    yield self._seen(event)
                elif self._is_over(pipe):
                    break
                else:
                    pipe.wait()
        finally:
            self.close()

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        loop, stirred = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(stirred.set)
            except RuntimeError:  # the loop was closed, so nobody reads any more
                self._leave()

        pipe = self._start(wake, loop)
        try:
            while True:
                stirred.clear()
                if (event := pipe.take()) is not None:
                    yield self._seen(event)
                elif self._is_over(pipe):
                    break
                else:
                    await stirred.wait()
        finally:
            await self.aclose()

    def close(self) -> None:
        """Cancel the prompt if it has not ended, and return when its driver has ended."""
        self._leave()
        if self._done is not None:
            self._done.result()

    async def aclose(self) -> None:
        """`close` for asyncio."""
        self._leave()
        if self._done is not None:
            done = asyncio.wrap_future(self._done)
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError:
                await ended(done)
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _start(self, wake: Callable[[], None], loop: asyncio.AbstractEventLoop | None = None) -> Pipe[StreamEvent]:
        if self._pipe is not None:
            raise Conflict("this stream was already read; call stream() again for another prompt")
        pipe = self._pipe = Pipe(_MOST, wake)
        self._done = started(self._drive, loop)
        self._done.add_done_callback(lambda _: wake())
        return pipe

    def _is_over(self, pipe: Pipe[StreamEvent]) -> bool:
        """Whether nothing comes any more; what kept the run from being driven is raised by `close`."""
        return pipe.is_closed or (self._done is not None and self._done.done() and pipe.is_empty)

    def _leave(self) -> None:
        if self._pipe is None:
            return
        self._pipe.close()
        for driver in tuple(self._drivers):
            driver.stop()

    def _seen(self, event: StreamEvent) -> StreamEvent:
        if isinstance(event, StartEvent):
            self.run = event.run
        elif isinstance(event, EndEvent):
            self.result = cast("Result[T]", event.result)
        return event

    def _drive(self) -> None:
        """Drive until the run ends, or waits and the reader has decided nothing; end the prompt if the reader has left."""
        assert self._pipe is not None, "it is read"
        with self._db.shared() as db:
            watch = partial(self._watch, db)
            try:
                result = self._begin(db, self._tell, watch, None)
                while self._goes_on(db, result):
                    self._begin(db, self._tell, watch, result.run)
                    result = db.result(result.run, self._loop)
            finally:
                if self._pipe.is_closed and self._drivers:
                    db.abort(self._drivers[0].run, _LEFT, loop=self._loop)
            self._pipe.put(EndEvent(id=db.value(_NEWEST), run=result.run, result=result))

    def _goes_on(self, db: Database, result: Result) -> bool:
        """Whether a run that waits has something to do, once the reader has seen all that it was told."""
        assert self._pipe is not None, "it is read"
        return result.status == 202 and self._pipe.drained() and runs.goes_on(db, result.run)

    def _tell(self, event: Event) -> None:
        assert self._pipe is not None, "it is read"
        self._pipe.put(typed(event, self._drivers[0].run))

    def _watch(self, db: Database, driver: Driver) -> None:
        """Tell the reader that the run is driven from now on."""
        assert self._pipe is not None, "it is read"
        self._drivers.append(driver)
        if len(self._drivers) == 1:
            started = start_event(db, driver.run, driver.loop)
            self._loop = started.loop
            self._pipe.put(started)
        if self._pipe.is_closed:
            driver.stop()


def _nothing() -> None:
    """A reader that waits in its own thread looks by itself."""
