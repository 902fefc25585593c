"""The transport of a server that is a program: a guarded process, in a sandbox where the server asks for one.

It is written and read by lines of JSON. It gets the environment of a command, without secrets, and what its server names; it
dies with the engine.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from engine.errors import EngineError, NotFound
from engine.processes.guarded import Guarded
from engine.system.secrets import clean_environment

from .limits import LOG_CHARACTERS, MESSAGE_BYTES
from .servers import Server

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from engine.sandbox import Confined

    from .watching import Watch

_END_SECONDS = 2.0
_TICK_SECONDS = 0.02
_ANSWER = re.compile(rb'\s*\{(?=[^{}\[\]]*"jsonrpc")(?![^{}\[\]]*"method")[^{}\[\]]*"id"\s*:\s*(\d{1,15})\b')
"""The beginning of an answer, before its result, with the number of its request."""

Confine = Callable[[Server], AbstractContextManager["Confined | None"]]
"""What a server's program is started with."""


@asynccontextmanager
async def program(server: Server, watch: Watch, root: Path, confine: Confine) -> AsyncIterator[TransportStreams]:
    """Start the program of a server in `root`, or in its own folder, and speak with it over its input and output.

    Raises `NotFound` (404) for a program that is not there, `EngineError` where it cannot be started.
    """
    folder = Path(server.cwd) if server.cwd is not None else root
    environment = {**clean_environment(os.environ), **server.env}
    _expect_program(server, folder, environment)
    with confine(server) if server.sandbox else nullcontext() as confined:
        given, feed = os.pipe()
        try:
            guarded = await asyncio.to_thread(_start, server, folder, environment, confined, given)
        except BaseException:
            os.close(feed)
            raise
        finally:
            os.close(given)
        try:
            async with _streams(guarded, feed, watch) as streams:
                yield streams
        finally:
            with anyio.CancelScope(shield=True):
                await _end(guarded, watch)


def _expect_program(server: Server, folder: Path, environment: dict[str, str]) -> None:
    if not folder.is_dir():
        raise NotFound(f"the folder {str(folder)!r} that it should run in does not exist")
    name = server.command[0]
    place = folder / name if "/" in name else shutil.which(name, path=environment.get("PATH"))
    if place is None or not Path(place).exists():
        raise NotFound(f"the program {name!r} was not found; install it, or give its path")


def _start(server: Server, folder: Path, environment: dict[str, str], confined: Confined | None, given: int) -> Guarded:
    try:
        guarded = Guarded(f"exec {shlex.join(server.command)}", folder, environment, confined, given=given)
    except (OSError, ValueError) as error:
        raise EngineError(f"it cannot be started: {error}") from None
    guarded.release()
    return guarded


@asynccontextmanager
async def _streams(guarded: Guarded, feed: int, watch: Watch) -> AsyncIterator[TransportStreams]:
    loop = asyncio.get_running_loop()
    inward, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outward = anyio.create_memory_object_stream[SessionMessage](0)
    lines, of_lines = await _reader(loop, guarded.output[0], MESSAGE_BYTES)
    errors, of_errors = await _reader(loop, guarded.output[1], MESSAGE_BYTES)
    pipe, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(feed, "wb", 0))
    writer = asyncio.StreamWriter(pipe, protocol, None, loop)
    async with anyio.create_task_group() as tasks, inward, read, write, outward:
        tasks.start_soon(_take_lines, lines, inward, watch)
        tasks.start_soon(_take_errors, errors, watch)
        tasks.start_soon(_feed, writer, outward, inward)
        try:
            yield read, write
        finally:
            writer.close()  # the end of its input asks it to end
            tasks.cancel_scope.cancel()
            of_lines.close()
            of_errors.close()


async def _reader(
    loop: asyncio.AbstractEventLoop, pipe: IO[bytes], most: int
) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader(most, loop)
    # the pipe is closed with its process: a descriptor of its own is read here
    copied = os.fdopen(os.dup(pipe.fileno()), "rb", 0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), copied)
    return reader, transport


async def _take_lines(
    lines: asyncio.StreamReader,
    inward: anyio.abc.ObjectSendStream[SessionMessage | Exception],
    watch: Watch,
) -> None:
    """Pass on each line that is a message; what else a program prints there is kept for who asks why it fails."""
    async with inward:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while line := await _line(lines, watch):
                if message := _message(line, watch):
                    await inward.send(message)
            watch.ended = watch.fault is None


async def _line(lines: asyncio.StreamReader, watch: Watch) -> bytes:
    began = time.monotonic()
    try:
        return await lines.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        return end.partial
    except asyncio.LimitOverrunError:
        watch.fault = f"it sent a message of more than {MESSAGE_BYTES:,} bytes"
        return b""
    finally:
        watch.waited = (watch.waited or 0.0) + time.monotonic() - began


def _message(line: bytes, watch: Watch) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        if answer := _ANSWER.match(line):
            # nested too deep, say: who asked is told at once, and does not wait
            problem = ErrorData(code=PARSE_ERROR, message="its answer does not follow the protocol: it cannot be read")
            return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(answer[1]), error=problem))
        text = line.decode(errors="replace").strip()
        if text:
            watch.noise = text[:LOG_CHARACTERS]
        return None


async def _take_errors(errors: asyncio.StreamReader, watch: Watch) -> None:
    while True:
        try:
            line = await errors.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            if end.partial:
                watch.printed(end.partial)
            return
        except asyncio.LimitOverrunError as overrun:
            line = await errors.readexactly(overrun.consumed)
        watch.printed(line)


async def _feed(
    writer: asyncio.StreamWriter,
    outward: anyio.abc.ObjectReceiveStream[SessionMessage],
    inward: anyio.abc.ObjectSendStream[SessionMessage | Exception],
) -> None:
    try:
        async for item in outward:
            writer.write((item.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n").encode())
            await writer.drain()
    except (OSError, RuntimeError):
        await inward.aclose()


async def _end(guarded: Guarded, watch: Watch) -> None:
    """Give the program a moment to end by itself, then kill it with all that it started."""
    waited = 0.0
    while not guarded.ended() and waited < _END_SECONDS:
        await asyncio.sleep(_TICK_SECONDS)
        waited += _TICK_SECONDS
    if watch.ended:
        watch.code = guarded.code
    await asyncio.to_thread(guarded.close)
