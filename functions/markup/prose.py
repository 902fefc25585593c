"""The prose between the calls, and what is quoted in it: code spans and fences, as CommonMark has them.

A call in a quotation is not run. A fence whose info word announces calls (`xml`, …) is not a quotation.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property, lru_cache
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.notations import Answer

from .grammar import begins_line

CALL_FENCES = frozenset({"xml", "tool_code", "tool_command", "tool_call", "tool_calls"})
_RUNS = lazy_regex("`+")
_BLANK_LINE = lazy_regex(r"\n[ \t\r]*\n")
_LONGEST_FENCE = 20
_SAYS_NOTHING = lazy_regex(
    # blanks, invisible characters, and the signs of lists and objects
    r"(?:[\s\[\]{}(),;:'\"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffd]"
    # fences, control tokens and the frames of calls
    r"|(?:```|~~~)[`~]*(?:(?:jsonc?|xml|python|text|tool_\w+)\b)?"
    r"|<[|｜][\w:/▁-]{1,60}[|｜]>|\[/?(?:TOOL_CALLS?|(?:END_)?TOOL_REQUEST)\]"
    r"|</?(?:\w{1,20}:)?(?:tool_?calls?|function_?calls?|functions?|tool_use|invoke|tools?)(?:\s*/)?>|functools(?=\s*\[))*",
    re.IGNORECASE,
)


class Quotation(NamedTuple):
    """`text[start:end]` is quoted, its content starts at `content`; `fence` is the info word of a fence.

    `closed` is false for a fence that goes to the end of the text.
    """

    start: int
    end: int
    fence: str | None
    content: int
    closed: bool = True


class Quotations:
    """Finds the quotations of one text. Each search takes time proportional to the quotation."""

    def __init__(self, answer: Answer) -> None:
        self.text = answer.text
        self.answer = answer
        self._blank = (0, -1)

    def at(self, start: int, end: int) -> Quotation | None:
        """The quotation that the back-ticks or tildes `text[start:end]` open; None if they open none."""
        if 3 <= end - start <= _LONGEST_FENCE and self.answer.begins(start):
            fence = self._fence(start, end)
            if fence is not None:
                return fence
        return self._span(start, end) if self.text[start] == "`" else None

    def is_open(self, start: int, end: int) -> bool:
        """Does the text end in the paragraph in which the back-ticks `text[start:end]` could still be closed?"""
        escaped = start > 0 and self.text[start - 1] == "\\"
        return self.text[start] == "`" and not escaped and self._blank_line(end) == len(self.text)

    def closes_fence(self, start: int, end: int, length: int) -> bool:
        """Does `text[start:end]` close a fence of `length` signs: is it alone on its line and long enough?"""
        alone = begins_line(self.text, start) and not self.text[end : self._line_end(end)].strip()
        return alone and end - start >= length

    def _line_end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end

    def _fence(self, start: int, end: int) -> Quotation | None:
        line_end = self._line_end(end)
        info = self.text[end:line_end].strip()
        if "`" in info:
            return None
        content = min(line_end + 1, len(self.text))
        closing = _closing_line(self.text[start], end - start).search(self.text, content)
        word = info.split()[0].lower() if info else ""
        return Quotation(start, closing.end() if closing else len(self.text), word, content, closing is not None)

    def _span(self, start: int, end: int) -> Quotation | None:
        """A code span: up to the next run of the same length, in the same paragraph."""
        if start and self.text[start - 1] == "\\":
            return None
        runs = self._runs[end - start]
        index = bisect_left(runs, end)
        if index == len(runs) or runs[index] > self._blank_line(end):
            return None
        return Quotation(start, runs[index] + end - start, None, end)

    def _blank_line(self, position: int) -> int:
        begin, end = self._blank
        if not begin <= position <= end:
            found = _BLANK_LINE.search(self.text, position)
            self._blank = (position, found.start() if found else len(self.text))
        return self._blank[1]

    @cached_property
    def _runs(self) -> dict[int, list[int]]:
        runs = defaultdict[int, list[int]](list)
        for run in _RUNS.finditer(self.text):
            runs[run.end() - run.start()].append(run.start())
        return runs


@lru_cache(maxsize=2 * _LONGEST_FENCE)
def _closing_line(character: str, length: int) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{character}{{{length},}}[ \t\r]*$\n?", re.MULTILINE)


class Prose:
    """What remains of a text when the calls are removed from it, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.kept_from = 0

    def cut(self, start: int, end: int) -> None:
        """Remove `text[start:end]`."""
        if start > self.kept_from:
            self.pieces.append(self.text[self.kept_from : start])
        self.kept_from = end

    def restart(self, position: int) -> None:
        """Keep nothing that stands before `position`."""
        self.pieces = []
        self.kept_from = position

    def take(self) -> str:
        """The text kept so far, trimmed. Where a call was removed, the wider of the two gaps around it remains."""
        pieces, self.pieces = self.pieces, []
        parts: list[str] = []
        gap = ""
        for piece in pieces:
            words = piece.strip()
            gap = _wider(gap, piece[: len(piece) - len(piece.lstrip())])
            if words:
                parts += [gap, words] if parts else [words]
                gap = piece[len(piece.rstrip()) :]
        return "".join(parts)


def said_in(text: str) -> str:
    """`text`, or '' where it says nothing: it holds no more than blanks, brackets, and frames of calls without a call."""
    return "" if _SAYS_NOTHING.fullmatch(text) else text


def _wider(left: str, right: str) -> str:
    lines = max(left.count("\n"), right.count("\n"))
    return "\n" * min(lines, 2) or (" " if left or right else "")
