"""Quotations in the model's prose: inline code spans and fenced blocks, by the rules of CommonMark.

What stands in one is shown, not run. A fence that says it holds tool calls (`xml`, `tool_code`, …) is no quotation.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache

from engine.functions.markup_tags import begins_line

_RUNS = re.compile("`+")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_LONGEST_FENCE = 20
CALL_FENCES = frozenset({"xml", "tool_code", "tool_command", "tool_call", "tool_calls"})


@dataclass(frozen=True, slots=True)
class Quotation:
    """`text[start:end]` is quoted; a fence has its info word (else None), where its content starts, and is it closed."""

    start: int
    end: int
    fence: str | None
    content: int
    closed: bool


@lru_cache(maxsize=2 * _LONGEST_FENCE)
def _closing_line(character: str, length: int) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{character}{{{length},}}[ \t\r]*$\n?", re.MULTILINE)


class Quotations:
    """Finds the quotations of one text; each question costs no more than the quotation's own length."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._blank = (0, -1)

    def at(self, start: int, end: int) -> Quotation | None:
        """The quotation that the run of back-ticks or tildes `text[start:end]` opens; None when it opens none."""
        if end - start >= 3 and begins_line(self.text, start) and end - start <= _LONGEST_FENCE:
            fence = self._fence(start, end)
            if fence is not None:
                return fence
        return self._span(start, end) if self.text[start] == "`" else None

    def closes_fence(self, start: int, end: int, length: int) -> bool:
        """Is the run `text[start:end]`, alone on its line, long enough to close a fence of `length`?"""
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
        return Quotation(
            start, closing.end() if closing else len(self.text), word, content, closing is not None
        )

    def _span(self, start: int, end: int) -> Quotation | None:
        """A code span: up to the next run of the same length, in the same paragraph."""
        if start and self.text[start - 1] == "\\":
            return None
        runs = self._runs[end - start]
        index = bisect_left(runs, end)
        if index == len(runs) or runs[index] > self._blank_line(end):
            return None
        return Quotation(start, runs[index] + end - start, None, end, True)

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
