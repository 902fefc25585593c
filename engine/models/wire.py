"""Checks what a provider sends before the provider library reads it: its kind, its length, and its figures."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from engine.config.secrets import masked
from engine.models.protocol import ModelError, is_count

if TYPE_CHECKING:
    import httpx2

LONGEST = 64_000_000
"""The bytes of an answer; a longer one is given up. The longest answers of models take about 1 MB."""
_LONGEST_ERROR = 1_000_000
_MAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"})
_LATEST = 1 << 32
_DIGITS = 20


def checks(who: str) -> dict[str, list[Any]]:
    """The event hooks for an HTTP client that asks the model `who`.

    A response raises `ModelError`: invalid for a redirect, server and final where it is compressed, is no stream of events,
    or is too long.
    """

    async def check(response: httpx2.Response) -> None:
        import httpx2

        if 300 <= response.status_code < 400:
            where = response.headers.get("location", "").partition("?")[0][:200]
            said = f"model {who!r} is sent on to {masked(where)!r}, where no key is sent; check the address"
            raise ModelError("invalid", said)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise _unreadable(who, "a compressed answer, which was not asked for")
        if response.is_success and kind not in ("", "text/event-stream"):
            raise _unreadable(who, f"{kind[:80]!r} instead of a stream of events; check the address")

        class Checked(httpx2.AsyncByteStream):
            """The stream of the response, with its figures checked."""

            def __init__(self, stream: Any) -> None:
                self._stream = stream

            async def __aiter__(self) -> AsyncIterator[bytes]:
                if response.is_success:
                    async for line in _lines(self._stream, who):
                        yield checked_line(line)
                else:
                    async for part in _first(self._stream, _LONGEST_ERROR):
                        yield part

            async def aclose(self) -> None:
                await self._stream.aclose()

        response.stream = Checked(response.stream)

    return {"response": [check]}


def checked_line(line: bytes) -> bytes:
    """A line of a stream of events; figures that no provider can mean are 0 there, and a date that is none is 1970."""
    if not line.startswith(b"data:") or (b'"usage"' not in line and b'"created"' not in line):
        return line
    try:
        event = json.loads(line[5:], parse_int=_whole)
    except (ValueError, RecursionError):
        return line  # the library says what is wrong with it
    if not isinstance(event, dict):
        return line
    inner = event.get("message")
    for place in (event, inner if isinstance(inner, dict) else {}):
        if place.get("usage") is not None:
            place["usage"] = _known(place["usage"])
    if "created" in event and not (is_count(event["created"]) and event["created"] < _LATEST):
        event["created"] = 0
    return b"data: " + json.dumps(event).encode() + line[len(line.rstrip(b"\r\n")) :]


def _whole(digits: str) -> float:
    """A whole number of JSON; Python refuses to read one of thousands of digits."""
    return int(digits) if len(digits) < _DIGITS else float("inf")


def _known(usage: Any) -> dict[str, Any]:
    """The figures that are some. Where one of the main ones is none, they all are 0, which stands for unknown."""
    found = usage if isinstance(usage, dict) else {}
    kept = {name: value for name, value in found.items() if _is_figure(name, value)}
    if not all(is_count(found.get(name, 0)) for name in _MAIN) or not found:
        kept |= dict.fromkeys(_MAIN & found.keys() or _MAIN, 0)
    for name, value in kept.items():
        if isinstance(value, dict):
            kept[name] = {key: each for key, each in value.items() if _is_figure(key, each)}
    return kept


def _is_figure(name: str, value: Any) -> bool:
    """Whether a member of a usage may stand: counts are whole and not negative, and details are objects."""
    if value is None:
        return True
    if name.endswith("_details"):
        return isinstance(value, dict)
    if name.endswith(("_tokens", "_requests")):
        return is_count(value)
    return not isinstance(value, list)


async def _lines(stream: Any, who: str) -> AsyncIterator[bytes]:
    """The lines of a stream, with their ends."""
    total, rest = 0, bytearray()
    async for part in stream:
        total += len(part)
        if total > LONGEST:
            raise _unreadable(who, f"more than {LONGEST:,} bytes")
        begin = len(rest)
        rest += part
        while (end := rest.find(b"\n", begin)) >= 0:
            yield bytes(rest[: end + 1])
            del rest[: end + 1]
            begin = 0
    if rest:
        yield bytes(rest)


async def _first(stream: Any, most: int) -> AsyncIterator[bytes]:
    """The parts of a stream, up to `most` bytes."""
    async for part in stream:
        yield part[:most]
        most -= len(part)
        if most <= 0:
            return


def _unreadable(who: str, what: str) -> ModelError:
    return ModelError("server", f"model {who!r} sent {what}", final=True)
