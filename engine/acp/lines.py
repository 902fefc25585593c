"""The wire: JSON-RPC messages as lines over two descriptors, checked before anybody acts by them.

Who is at the other end may send anything. What is no message is answered with an error or passed over; no line, however
long, and no number of requests makes the process hold more than the limits below.

spec: @acp_wire
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import select
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from engine.system.secrets import scrubbed

MOST_BYTES = 10_000_000
"""A longer line is passed over."""
MOST_AT_ONCE = 256
"""Requests of the client that may be open at a time."""
_AHEAD = 4
"""Lines that are read ahead of what is done."""
_PIECE = 65_536
_TICK_S = 0.5
_MOMENT_S = 2.0
_PARSE_ERROR, _INVALID_REQUEST, _INVALID_PARAMS = -32700, -32600, -32602
_TOO_LONG = object()


class Lines:
    """A transport for `acp.Connection`: `receive` gives messages that have the form of one, `send` writes one.

    Reading and writing are done by threads, so that any descriptor will do. A client that does not read holds up who sends.
    """

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[bytes | object | None] = asyncio.Queue()
        self._ahead = threading.Semaphore(_AHEAD)
        self._written: queue.Queue[tuple[bytes, asyncio.Future[None]] | None] = queue.Queue()
        self._open: set[str | int] = set()
        self.ended = threading.Event()
        """Set when nothing can be said to the client any more."""
        self._unread = 0
        self._answered = asyncio.Event()
        for work in (self._read_lines, self._write_lines):
            threading.Thread(target=work, name=f"engine serve acp {work.__name__}", daemon=True).start()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when the client is gone."""
        while (line := await self._next()) is not None:
            if (message := await self._checked(line)) is not None:
                return message
        return None

    async def _next(self) -> bytes | object | None:
        """The next line, when the client has read enough of what it was answered."""
        while self._unread >= MOST_AT_ONCE and not self.ended.is_set():
            self._answered.clear()
            await self._answered.wait()
        line = await self._read.get()
        self._ahead.release()
        return line

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; raises `ConnectionError` where the client is gone."""
        if "method" not in message:
            self._open.discard(message["id"])
            self._answered.set()
            if error := message.get("error"):
                message = {**message, "error": told_error(error)}
        if self.ended.is_set():
            raise ConnectionError("the client has disconnected")
        written: asyncio.Future[None] = self._loop.create_future()
        self._written.put(((json.dumps(message, separators=(",", ":")) + "\n").encode(), written))
        self._unread += 1
        try:
            await written
        finally:
            self._unread -= 1
            self._answered.set()

    async def settle(self) -> None:
        """Wait until all requests are answered, a moment: a client that has said all may still want to read."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOMENT_S):
                while self._open and not self.ended.is_set():
                    self._answered.clear()
                    await self._answered.wait()
                while self._written.unfinished_tasks and not self.ended.is_set():
                    await asyncio.sleep(_MOMENT_S / 100)

    async def close(self) -> None:
        """Write no more; what is under way is given up."""
        self.ended.set()
        self._written.put(None)

    async def _checked(self, line: bytes | object) -> dict[str, Any] | None:
        """The message of a line; None for what is none, or cannot be taken, which the client is told."""
        if line is _TOO_LONG:
            await self._refuse(_INVALID_REQUEST, f"a message is longer than {MOST_BYTES:,} bytes; send it in parts")
            return None
        assert isinstance(line, bytes), "a line"
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._refuse(_PARSE_ERROR, "a line is not JSON; send one message per line")
            return None
        if not isinstance(message, dict):
            await self._refuse(_INVALID_REQUEST, "a message must be an object; batches are not accepted")
            return None
        return await self._request(message) if "method" in message else _answer(message)

    async def _request(self, message: dict[str, Any]) -> dict[str, Any] | None:
        number, is_notification = message.get("id"), "id" not in message
        refusal = ""
        if not isinstance(message["method"], str):
            refusal = "method must be a text"
        elif is_notification:
            pass
        elif isinstance(number, bool) or not isinstance(number, (int, str)):
            refusal = "id must be a text or a whole number"
        elif number in self._open:
            refusal = f"id {str(number)[:40]!r} is used by a request that is still open"
        elif len(self._open) >= MOST_AT_ONCE:
            await self._refuse(_INVALID_REQUEST, f"{MOST_AT_ONCE} requests are open; wait for their answers", number)
            return None
        if refusal:
            await self._refuse(_INVALID_REQUEST, refusal)
            return None
        if not is_notification:
            assert isinstance(number, (int, str)), "checked above"
            self._open.add(number)
        if isinstance(params := message.get("params"), dict):
            # the library would pass its keys as arguments
            message["params"] = {key: value for key, value in params.items() if key != "_meta"}
        return message

    async def _refuse(self, code: int, told: str, number: Any = None) -> None:
        with suppress(ConnectionError):
            await self.send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": told}})

    def _read_lines(self) -> None:
        try:
            for line in _lines(self._source):
                self._ahead.acquire()
                self._loop.call_soon_threadsafe(self._read.put_nowait, line)
        except OSError:  # as good as its end
            pass
        finally:
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._read.put_nowait, None)

    def _write_lines(self) -> None:
        while (item := self._written.get()) is not None:
            data, written = item
            try:
                self._write(data)
            except OSError:
                self._end()
                self._settle(written, ConnectionError("the client has disconnected"))
            else:
                self._settle(written, None)
            self._written.task_done()

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            if self.ended.is_set():
                raise BrokenPipeError
            # who closes this need not wait for a client that reads no more
            if select.select([], [self._target], [], _TICK_S)[1]:
                with suppress(BlockingIOError):
                    left = left[os.write(self._target, left[: select.PIPE_BUF]) :]

    def _settle(self, written: asyncio.Future[None], error: Exception | None) -> None:
        def settle() -> None:
            if not written.done():
                written.set_result(None) if error is None else written.set_exception(error)

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(settle)

    def _end(self) -> None:
        self.ended.set()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answered.set)
            self._loop.call_soon_threadsafe(self._read.put_nowait, None)


def _lines(source: int) -> Iterator[bytes | object]:
    """The lines that come from a descriptor; for one that is too long the mark of that, once, whatever its length."""
    pieces: list[bytes] = []
    length = 0
    while piece := os.read(source, _PIECE):
        *whole, rest = piece.split(b"\n")
        for each in whole:
            yield _TOO_LONG if length + len(each) > MOST_BYTES else b"".join([*pieces, each])
            pieces, length = [], 0
        length += len(rest)
        pieces = [*pieces, rest] if length <= MOST_BYTES else []
    if pieces and any(pieces):
        yield b"".join(pieces)


def _answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """An answer of the client in the form that the library takes; None for what answers nothing."""
    number = message.get("id")
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    if "error" not in message:
        return {"id": number, "result": message.get("result")}
    error = message["error"] if isinstance(message["error"], dict) else {}
    code, told = error.get("code"), error.get("message")
    return {
        "id": number,
        "error": {
            "code": code if isinstance(code, int) else -32603,
            "message": told if isinstance(told, str) else "the client gave an error without a message",
        },
    }


def told_error(error: dict[str, Any]) -> dict[str, Any]:
    """An error in one line. That parameters are wrong is told without the values, which may be long and the client's own."""
    message, data = str(error["message"]), error.get("data")
    if error["code"] == _INVALID_PARAMS and isinstance(data, dict) and isinstance(data.get("errors"), list):
        first = data["errors"][0] if data["errors"] else {}
        place = ".".join(str(each) for each in first.get("loc", ()))[:200]
        message, data = f"{place or 'params'}: {str(first.get('msg', 'is wrong'))[:200]}", None
    elif isinstance(data, dict) and isinstance(data.get("method"), str):
        message, data = f"there is no method {data['method'][:100]!r} here", None
    told = {"code": error["code"], "message": scrubbed(" ".join(message.split())[:2_000])}
    return told if data is None else {**told, "data": data}
