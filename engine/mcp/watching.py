"""Watches the messages of a connection: hooks see them, and a flood of what nobody asked for ends it.

spec: @mcp_hooks
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from .limits import FLOOD_MESSAGES, FLOOD_SECONDS, LOG_CHARACTERS, STDERR_LINES
from .servers import Log, Request, Response, Server

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


@dataclass
class Watch:
    """What one connection did: `fault` says why it ended, where the engine ended it; `status` is the last HTTP status above
    399, `code` that with which a program `ended` by itself; `noise` a line that was no message. `tell` gets the log.
    `waited` are the seconds for which a program was waited for, None where that is unknown.
    """

    server: Server
    fault: str | None = None
    status: int | None = None
    ended: bool = False
    code: int | None = None
    noise: str | None = None
    stderr: deque[str] = field(default_factory=lambda: deque(maxlen=STDERR_LINES))
    tell: Callable[[Log], None] = field(default=lambda _: None)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    waited: float | None = None
    _methods: dict[Any, str] = field(default_factory=dict)
    _came: deque[float] = field(default_factory=deque)

    def printed(self, line: bytes) -> None:
        """A line that a program printed on its standard error."""
        text = line.decode(errors="replace").rstrip()[:LOG_CHARACTERS]
        if text:
            self.stderr.append(text)
            self.tell(Log(self.server.name, "stderr", text))

    def sent(self, item: SessionMessage) -> SessionMessage:
        """A message that goes out, as the hook wants it."""
        message = item.message
        if not isinstance(message, JSONRPCRequest):
            return item
        self._methods[message.id] = message.method
        if self.server.on_request is not None:
            changed = self.server.on_request(Request(self.server.name, message.method, message.params))
            if changed is not None:
                item.message = message.model_copy(
                    update={"params": None if changed.params is None else dict(changed.params)}
                )
        return item

    def received(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """A message that came in, as the hook wants it; raises `anyio.EndOfStream` where the connection is to end."""
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            self._count()
            return item
        method = self._methods.pop(message.id, None)
        if method is None or self.server.on_response is None:
            return item
        assert isinstance(item, SessionMessage), "it holds a message"
        is_error = isinstance(message, JSONRPCError)
        told = Response(
            self.server.name,
            method,
            None if isinstance(message, JSONRPCError) else message.result,
            message.error.message if isinstance(message, JSONRPCError) else None,
        )
        try:
            changed = self.server.on_response(told)
        except Exception as error:  # whatever a hook raises fails the request, not the connection
            problem = ErrorData(code=INTERNAL_ERROR, message=f"on_response: {type(error).__name__}: {error}")
            item.message = JSONRPCError(jsonrpc="2.0", id=message.id, error=problem)
            return item
        if changed is not None and changed.result is not None and not is_error:
            item.message = message.model_copy(update={"result": dict(changed.result)})
        return item

    def _count(self) -> None:
        # not by the clock on the wall: on a busy machine what comes faster than it is read seems slow
        now = time.monotonic() if self.waited is None else self.waited
        self._came.append(now)
        while self._came and now - self._came[0] > FLOOD_SECONDS:
            self._came.popleft()
        if len(self._came) > FLOOD_MESSAGES:
            self.fault = f"it sent more than {FLOOD_MESSAGES:,} unrequested messages in {FLOOD_SECONDS:g} s"
            raise anyio.EndOfStream


class _Reading:
    """The messages that come in; the end of the stream where one is refused."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return self._watch.received(await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._watch.over.set()
            raise

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Reading:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._inner.__aexit__(*error)

    @property
    def last_context(self) -> Any:
        """The context variables of who sent the last message."""
        return getattr(self._inner, "last_context", None)


class _Writing:
    """The messages that go out."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        await self._inner.send(self._watch.sent(item))

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> _Writing:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._inner.__aexit__(*error)


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[TransportStreams], watch: Watch
) -> AsyncIterator[TransportStreams]:
    """The streams of a transport, watched."""
    async with transport as (read, write):
        yield _Reading(read, watch), _Writing(write, watch)
