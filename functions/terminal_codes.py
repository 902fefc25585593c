"""Takes the text that a program prints apart: what is shown, control characters, and control sequences (ECMA-48).

spec: @shown_output
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""A control character other than a tab and a line feed."""
_COLOUR = re.compile(r"(?:\x1b(?:\[[0-?]*)?[ -/]*)?\x1b\[[0-9;:]*m")
"""A colour, and the sequence without an end before it, which it breaks off."""
_STRING = re.compile(r"\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]")
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x08\n-\x1f\x7f-\x9f]+)"
    r"|(?P<control>\r+|[\x00-\x08\n-\x1a\x1c-\x1f\x7f-\x8f\x91-\x97\x99\x9a\x9c])"
    r"|(?:\x1b\[|\x9b)(?P<parameters>[0-?]*)[ -/]*(?P<sequence>[@-~]?)"
    r"|(?P<string>\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"
    r"|\x1b(?:[ -/]+[0-~]?|(?P<escape>[0-~]?))"
)
_BEGUN = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z|\x1b[ -/]*\Z")
"""A control sequence that has not ended."""
_STRING_END = re.compile(r"[\x07\x18\x1a\x9c]|\x1b\\?")
_TITLE_END = re.compile(r"[\x07\x18\x1a\x9c\n]|\x1b\\?")
_LONGEST_SEQUENCE = 64
_LONGEST_STRING = 1_000_000
"""The characters of a string, such as a picture; one that does not end by then is shown from there on."""
_LARGEST = 99_999


class Code(NamedTuple):
    """`kind` text: `value` is shown; control: one character; escape, sequence: its last one, with the first `number`."""

    kind: str
    value: str
    number: int = 0


class Codes:
    """Reads a text that comes in pieces, which may end in the middle of a sequence; what has begun is bounded."""

    def __init__(self) -> None:
        self._rest = ""
        self._end: re.Pattern[str] | None = None
        self._length = 0

    @property
    def is_between(self) -> bool:
        """Whether the cursor is in no string of a sequence."""
        return self._end is None

    def join(self, piece: str) -> str:
        """The next piece, with what had begun before it, and without most of what changes nothing."""
        text, self._rest = self._rest + piece, ""
        if "\x1b" in text and self._end is None and not _STRING.search(text):
            text = _COLOUR.sub("", text)
        return text.replace("\r\n", "\n") if "\r" in text else text

    def read(self, text: str) -> Iterator[Code]:
        """What the next text says, which `join` gave or is a part of that."""
        place = 0
        while place < len(text):
            if self._end is not None:
                place = self._pass_string(text, place, self._end)
                continue
            token = _TOKEN.match(text, place)
            assert token is not None, "there is an alternative for each character"
            place = token.end()
            if place == len(text) and _BEGUN.match(token[0]):
                # no real sequence is as long
                self._rest = token[0] if len(token[0]) <= _LONGEST_SEQUENCE else "\x1b["
            elif token["string"]:
                self._end = _TITLE_END if token["string"] in ("\x1b]", "\x9d") else _STRING_END
                self._length = 0
            elif token.lastgroup and (value := token[token.lastgroup]):
                yield Code(token.lastgroup, value, _number(token["parameters"]))

    def _pass_string(self, text: str, place: int, ending: re.Pattern[str]) -> int:
        """Pass over a string that no terminal shows, such as a title; returns where it ends in `text`.

        A title ends with its line at the latest.
        """
        end = ending.search(text, place)
        stop = min(end.start() if end else len(text), place + _LONGEST_STRING - self._length)
        self._length += stop - place
        if end is None or stop < end.start():
            if self._length >= _LONGEST_STRING:
                self._end = None
            return stop
        if end[0] == "\x1b" and end.end() == len(text):
            self._rest = "\x1b"
            return len(text)
        self._end = None
        return end.start() if end[0] in ("\n", "\x1b") else end.end()


def _number(parameters: str | None) -> int:
    """The first parameter of a sequence; 0 where there is none."""
    first = (parameters or "").partition(";")[0][:6]
    return min(int(first), _LARGEST) if first.isascii() and first.isdigit() else 0
