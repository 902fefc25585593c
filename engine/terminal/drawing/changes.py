"""Draws the diff of a file: its lines with their numbers, and the words that were changed within them.

spec: @drawn_changes
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from engine.display.escapes import drawn_diff

from .folding import folded
from .look import Line, Look, Span

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.4
"""The share of two lines that is the same where words are marked; other lines are changed as a whole."""
_LONGEST = 400
"""Characters of a line whose words are compared."""


class Changes(NamedTuple):
    """The lines of a diff as they are drawn, and how many of it add and remove."""

    lines: list[Line]
    added: int
    removed: int


def changes(diff: str, look: Look) -> Changes:
    """A unified diff of one file, without the two lines of its head."""
    lines = drawn_diff(diff)
    if lines and lines[0].startswith("--- "):
        lines = lines[2:]
    if lines and not lines[-1]:  # behind the last line feed
        lines.pop()
    numbers = [int(number) for line in lines if (found := _HUNK.match(line)) for number in found.groups()[:2]]
    gutter = len(str(max(numbers, default=0) + len(lines)))
    drawn = [part for line in _numbered(lines, gutter, look) for part in line]
    marks = [line[:1] for line in lines]
    return Changes(drawn, marks.count("+"), marks.count("-"))


def _numbered(lines: Sequence[str], gutter: int, look: Look) -> Iterator[list[Line]]:
    old = new = at = 0
    while at < len(lines):
        line = lines[at]
        if hunk := _HUNK.match(line):
            if at:
                yield [[Span(" " * gutter + " " + look.mark("more"), "dim")]]
            old, new = int(hunk[1]), int(hunk[2])
            at += 1
            continue
        removed = _taken(lines, at, "-")
        added = _taken(lines, at + len(removed), "+")
        if not removed and not added:
            yield _line(new if line[:1] == " " else None, line, [Span(line[1:])], "dim", gutter, look)
            old, new, at = old + 1, new + 1, at + 1
            continue
        before, after = _marked(removed, added)
        for text, spans in zip(removed, before, strict=True):
            yield _line(old, text, spans, "bad", gutter, look)
            old += 1
        for text, spans in zip(added, after, strict=True):
            yield _line(new, text, spans, "good", gutter, look)
            new += 1
        at += len(removed) + len(added)


def _taken(lines: Sequence[str], at: int, sign: str) -> list[str]:
    end = at
    while end < len(lines) and lines[end].startswith(sign):
        end += 1
    return list(lines[at:end])


def _line(number: int | None, line: str, spans: Line, style: str, gutter: int, look: Look) -> list[Line]:
    """A line behind its number and its sign; what goes on is below the text."""
    head = "" if number is None else str(number)
    sign = line[:1] if style != "dim" else " "
    first = [Span(f"{head:>{gutter}} ", "dim"), Span(f"{sign} ", style)]
    rest = [Span(" " * (gutter + 3))]
    styled = [span._replace(text=span.text.expandtabs(4), style=f"{style} {span.style}".strip()) for span in spans]
    return folded(styled, look.width, first, rest) if line[1:] else [first]


def _marked(removed: Sequence[str], added: Sequence[str]) -> tuple[list[Line], list[Line]]:
    """Removed and added lines; where each has its counterpart, with the words marked that only one of them has."""
    if len(removed) != len(added):
        return [[Span(line[1:])] for line in removed], [[Span(line[1:])] for line in added]
    pairs = [_words(old[1:], new[1:]) for old, new in zip(removed, added, strict=True)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _words(old: str, new: str) -> tuple[Line, Line]:
    if len(old) > _LONGEST or len(new) > _LONGEST:
        return [Span(old)], [Span(new)]
    before, after = _WORD.findall(old), _WORD.findall(new)
    found = SequenceMatcher(None, before, after, autojunk=False)
    if found.ratio() < _ALIKE:
        return [Span(old)], [Span(new)]
    left: Line = []
    right: Line = []
    for kind, a, b, c, d in found.get_opcodes():
        style = "" if kind == "equal" else "reverse"
        left += [Span("".join(before[a:b]), style)] if b > a else []
        right += [Span("".join(after[c:d]), style)] if d > c else []
    return left, right


__all__ = ["Changes", "changes"]
