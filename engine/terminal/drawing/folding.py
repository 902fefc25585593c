"""Breaks styled lines at the width of a terminal, in its cells, and cuts them.

spec: @drawn_answers
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from engine.terminal.wrapping import cells, fitting

from .look import Line, Span, text_of, width_of


def folded(line: Iterable[Span], width: int, first: Sequence[Span] = (), rest: Sequence[Span] = ()) -> list[Line]:
    """The lines of a styled text, broken at `width` cells, at blanks if any; `first` and `rest` stand before them."""
    width = max(width - width_of(rest or first), 1)
    spans = [span for span in line if span.text]
    plain = text_of(spans)
    lines: list[Line] = []
    for start, end in _breaks(plain, width):
        lines.append([*(first if not lines else rest), *_cut(spans, start, end)])
    return lines


def cut(line: Sequence[Span], width: int, more: str) -> Line:
    """A line of at most `width` cells; behind one that is longer stands `more`."""
    if width_of(line) <= width:
        return list(line)
    end = fitting(text_of(line), max(width - cells(more), 1))
    return [*_cut(line, 0, end), Span(more, "dim")]


def _breaks(plain: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the lines of a text begin and end."""
    start = 0
    for piece in plain.split("\n"):
        stop = start + len(piece)
        at = start
        while cells(plain[at:stop]) > width:
            end = at + fitting(plain[at:stop], width)
            blank = plain.rfind(" ", at, end + 1)
            if blank > at and plain[at:blank].strip():
                end = blank
            yield at, end
            at = end
            while at < stop and plain[at] == " ":
                at += 1
        yield at, stop
        start = stop + 1


def _cut(spans: Iterable[Span], start: int, end: int) -> Line:
    """The part of a line between two of its characters."""
    found: Line = []
    at = 0
    for span in spans:
        behind = at + len(span.text)
        if behind > start and at < end:
            found.append(span._replace(text=span.text[max(start - at, 0) : end - at]))
        at = behind
    return found


__all__ = ["cut", "folded"]
