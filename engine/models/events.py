"""Reads a stream of server-sent events as providers write it, which is not always as its standard has it.

A line may end in LF, CR LF or CR, and a byte order mark may stand before the first. Comments keep a connection alive and say
nothing. Each line `data:` that is a JSON text by itself is an event, although no blank line stands between them; a JSON text
over several lines is one event. A JSON text without `data:` before it, such as the error of a proxy, is an event too.

spec: @provider_streams
"""

from __future__ import annotations

import json
from collections.abc import Iterator

_FIELDS = ("data", "event", "id", "retry", "error")
DONE = "[DONE]"
"""The data of the event that ends an answer of OpenAI's API."""
_BOM = b"\xef\xbb\xbf"


class Lines:
    """Cuts a stream of bytes into lines without their ends, in a time that grows with its length alone."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._after_cr = self._started = False

    def feed(self, part: bytes) -> Iterator[bytes]:
        """The lines that this part ends."""
        if not self._started and (part := self._begin(part)) == b"":
            return
        if self._after_cr and part.startswith(b"\n"):
            part = part[1:]
        self._after_cr = part.endswith(b"\r") if part else self._after_cr
        for line in part.splitlines(keepends=True):
            self._rest.append(line)
            if line.endswith((b"\n", b"\r")):
                yield self._take().rstrip(b"\r\n")

    def finish(self) -> Iterator[bytes]:
        """The last line, if the stream does not end in a line end."""
        if self._rest:
            yield self._take()

    def _begin(self, part: bytes) -> bytes:
        """The first bytes without their byte order mark; nothing while they may be a part of one."""
        part = self._take() + part
        if len(part) < len(_BOM) and _BOM.startswith(part):
            self._rest = [part]
            return b""
        self._started = True
        return part.removeprefix(_BOM)

    def _take(self) -> bytes:
        line, self._rest = b"".join(self._rest), []
        return line


class Events:
    """Reads lines as events: pairs of the event's name (empty if it has none) and its data."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._name = ""
        self._data: list[str] = []
        self._is_raw = False

    def feed(self, part: bytes) -> Iterator[tuple[str, str]]:
        """The events that this part ends; raises `UnicodeDecodeError` for a line that is no text."""
        for line in self._lines.feed(part):
            yield from self._read(line.decode())

    def finish(self) -> Iterator[tuple[str, str]]:
        """The events that the end of the stream ends; what was cut off in the middle is none."""
        for line in self._lines.finish():
            yield from self._read(line.decode(errors="replace"))
        self._is_raw = self._is_raw or not self._is_whole()
        yield from self._end()

    def _read(self, line: str) -> Iterator[tuple[str, str]]:
        name, _, value = line.partition(":")
        if not line.strip():
            if not self._is_raw:  # a blank line may stand inside of a JSON text
                yield from self._end()
        elif name in _FIELDS:
            if self._is_raw or (name in ("data", "event", "error") and self._is_whole()):
                yield from self._end()
            self._take(name, value.removeprefix(" "))
        elif self._is_raw or (not self._data and line.lstrip().startswith(("{", "["))):
            self._is_raw = True
            self._data.append(line)
            if self._is_whole():
                yield from self._end()

    def _take(self, field: str, value: str) -> None:
        if field == "event":
            self._name = value.strip()
        elif field == "data":
            self._data.append(value)
        elif field == "error":  # older servers of llama.cpp write an error as a field of its own
            self._name, self._data = "error", [value]

    def _is_whole(self) -> bool:
        """Whether the only line of data so far is a JSON text; of several lines a blank one says where they end."""
        return len(self._data) == 1 and (self._data[0].strip() == DONE or _is_json(self._data[0]))

    def _end(self) -> Iterator[tuple[str, str]]:
        name, data, is_raw = self._name, "\n".join(self._data), self._is_raw
        self._name, self._data, self._is_raw = "", [], False
        if data.strip() and not (is_raw and not _is_json(data)):
            yield name, data


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
