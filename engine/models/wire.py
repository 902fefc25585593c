"""Reads what a provider sends: its kind, its length, its events, and the errors in them.

spec: @provider_streams
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from engine.models.answer import Answer, Emit
from engine.models.chat_stream import read_chunk
from engine.models.events import DONE, Events
from engine.models.failures import refused, stated
from engine.models.messages_stream import read_event
from engine.models.protocol import ModelError
from engine.system.secrets import masked

if TYPE_CHECKING:
    import httpx2

    from engine.models.providers import Endpoint

LONGEST = 64_000_000
"""The bytes of an answer; a longer one is given up. The longest answers of models take about 1 MB."""
_LONGEST_ERROR = 1_000_000
_DIGITS = 20
_PAGES = ("text/html", "application/xhtml+xml")
_ENDING_S = 0.05
"""How long the end of a stream may take when its answer is over: a connection that was read to its end is used again."""


class Wire:
    """Reads the response to one call of the model `who` at an endpoint; its text goes to `emit`.

    A response raises `ModelError`: invalid for a redirect, server and final where it is compressed, is no answer of the API,
    or is too long; and that of an error which the provider states in it.
    """

    def __init__(self, who: str, at: Endpoint, emit: Emit) -> None:
        self._who = who
        self._at = at
        self._is_anthropic = at.provider.name == "anthropic"
        self._events, self._length = Events(), 0
        self.answer = Answer(emit, apart=self._is_anthropic)

    async def read(self, response: httpx2.Response) -> None:
        """Read the response; raises `ModelError` for one that is no answer, and that of a refusal."""
        kind, stream = self._checked_kind(response), response.aiter_raw()
        if not response.is_success:
            raise refused(await _first(stream, _LONGEST_ERROR), response, self._who, self._at)
        async for part in stream:
            self.feed(part)
            if self.answer.is_over or self.answer.is_stuck:
                break
        self.finish(kind)
        if self.answer.is_over:
            with suppress(TimeoutError, Exception):
                async with asyncio.timeout(_ENDING_S):
                    await _first(stream, _LONGEST_ERROR)

    def _checked_kind(self, response: httpx2.Response) -> str:
        if 300 <= response.status_code < 400:
            where = response.headers.get("location", "").partition("?")[0][:200]
            said = f"model {self._who!r} is sent on to {masked(where)!r}, where no key is sent; check the address"
            raise ModelError("invalid", said)
        kind = str(response.headers.get("content-type", "").partition(";")[0].strip().lower())
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise self._unreadable("a compressed answer, which cannot be read")
        if response.is_success and kind in _PAGES:
            raise self._no_stream(kind)
        return kind

    def feed(self, part: bytes) -> None:
        """Take the next bytes of the answer."""
        self._length += len(part)
        if self._length > LONGEST:
            raise self._unreadable(f"more than {LONGEST:,} bytes")
        self._take(self._events.feed(part))

    def finish(self, kind: str = "") -> None:
        """Take the end of an answer of this media type; raises `ModelError` (server) if it had nothing in it."""
        self._take(self._events.finish())
        if self.answer.is_empty:
            raise self._empty(kind)

    def _take(self, events: Iterator[tuple[str, str]]) -> None:
        try:
            for name, data in events:
                if self.answer.is_over:
                    return
                if data.strip().startswith(DONE):
                    self.answer.is_over = True
                elif data.lstrip().startswith(("{", "[")):  # words, such as a comment that a proxy wraps, say nothing
                    self._take_event(name, _only_object(json.loads(data, parse_int=_whole)))
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            said = str(error) if isinstance(error, TypeError | OverflowError) else type(error).__name__
            raise self._unreadable(f"an answer that cannot be read ({said}); check the address") from None

    def _take_event(self, name: str, event: dict[str, Any]) -> None:
        error = _error(name, event)
        if error is not None and not self.answer.ended:  # an answer that has ended is paid for
            raise stated(error, self._who, self._at)
        if self._is_anthropic:
            read_event(self.answer, event if "type" in event else {"type": name, **event})
        else:
            read_chunk(self.answer, event)

    def _empty(self, kind: str) -> ModelError:
        if kind not in ("", "text/event-stream"):
            return self._no_stream(kind)
        return ModelError("server", f"model {self._who!r} sent an answer without content")

    def _no_stream(self, kind: str) -> ModelError:
        return self._unreadable(f"{kind[:80]!r} instead of a stream of events; check the address")

    def _unreadable(self, what: str) -> ModelError:
        return ModelError("server", f"model {self._who!r} sent {what}", final=True)


def _only_object(event: Any) -> dict[str, Any]:
    """An event, or the only object in a list, as some hosts wrap an error; null and the like say nothing."""
    if isinstance(event, list) and len(event) == 1:
        event = event[0]
    return event if isinstance(event, dict) else {}


def _error(name: str, event: Mapping[str, Any]) -> Any:
    """The error that an event states, an object or a text; None if it states none."""
    several, of_host = event.get("errors"), event.get("base_resp")
    if found := event.get("error") or (several[0] if isinstance(several, list) and several else None):
        return found
    if isinstance(of_host, Mapping) and of_host.get("status_code"):
        return {"message": of_host.get("status_msg")}
    if "error" in (name, event.get("type"), event.get("object")):
        return event
    is_bare = not {"choices", "type"} & event.keys() and any(event.get(key) for key in ("message", "detail", "msg"))
    return event if is_bare and not isinstance(event.get("message"), Mapping) else None


def _whole(digits: str) -> float:
    """A whole number of JSON; Python refuses to read one of thousands of digits."""
    return int(digits) if len(digits) < _DIGITS else float("inf")


async def _first(stream: AsyncIterator[bytes], most: int) -> bytes:
    """The beginning of a stream, up to `most` bytes, or a little more."""
    parts: list[bytes] = []
    async for part in stream:
        parts.append(part)
        most -= len(part)
        if most <= 0:
            break
    return b"".join(parts)
