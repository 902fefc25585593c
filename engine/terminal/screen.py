"""Shows lines at the terminal of a person who decides: none longer than the screen is wide, and no more than fit on it.

A line that is too long goes on behind a mark, so that no text begins a line of the screen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from engine.functions.counts import counted

from .printing import say
from .wrapping import fitting, line_width

_USUAL = (80, 24)
_INDENT = "  "
_GOES_ON = "┆ "
_NARROWEST = 10
_QUESTION_LINES = 6
_FEWEST = 12
_UNKNOWN_LINES = 60
"""Lines that are shown where stderr is no terminal."""
# A letter may have four marks; the longest emoji that is drawn has some thirty characters in two cells.
_CHARACTERS_OF_A_CELL = 16


def screen() -> tuple[int, int] | None:
    """The cells of a line and the lines of the terminal that stderr is, as COLUMNS and LINES say or it says itself; None
    where it is none.
    """
    if not sys.stderr.isatty():
        return None
    try:
        found = tuple(os.get_terminal_size(sys.stderr.fileno()))
    except OSError:
        found = (0, 0)
    told = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    columns, lines = (
        int(told[i]) if told[i].isdecimal() and int(told[i]) else found[i] or usual for i, usual in enumerate(_USUAL)
    )
    return columns, lines


def fits(text: str) -> bool:
    """Whether a question and an answer to it stand on one line of the screen."""
    size = screen()
    return size is None or len(text) < size[0] - 1


def lines_that_fit() -> int:
    """How many lines fit on the screen above a question."""
    size = screen()
    return _UNKNOWN_LINES if size is None else max(size[1] - _QUESTION_LINES, _FEWEST)


def show_lines(
    lines: Sequence[str],
    painted: Callable[[Iterable[str]], Iterable[str]],
    paint_rest: Callable[[str, str], str],
    *,
    most: int | None = None,
    more: str = "line",
    hint: str = "[v] shows all",
) -> None:
    """Show lines on stderr, of more than `most` on the screen the first, and how many follow.

    `painted` colours the beginnings of lines, `paint_rest` what goes on behind the mark: it is given a text and the first
    character of its line.
    """
    size = screen()
    if most is not None and len(lines) == most + 1:
        most += 1  # what says that a line follows would take its place
    parts = [_parts(line, size, most) for line in (lines if most is None else lines[:most])]
    rows = shown = 0
    for part, first in zip(parts, painted(part[0] for part in parts), strict=True):
        if most is not None and rows and rows + len(part) > most:
            break
        rows += len(part)
        say(f"{_INDENT}{first}")
        for rest in part[1:] if most is None else part[1:most]:
            say(f"{_INDENT}{_GOES_ON}{paint_rest(rest, part[0][:1])}")
        shown += len(part) <= (most or len(part))
    if shown < len(lines):
        left = len(lines) - shown
        say(f"{_INDENT}… {counted(left, f'more {more}')}; {hint}", "yellow")


def _parts(line: str, size: tuple[int, int] | None, most: int | None) -> list[str]:
    if size is None:
        return [line]
    cells = max(size[0] - len(_INDENT) - len(_GOES_ON), _NARROWEST)
    return list(islice(cut(line, cells), None if most is None else most + 1))


def printed_rows(line: str) -> list[str]:
    """A line of a text as it is printed on stdout: indented, and at a terminal in pieces, the others behind the mark."""
    width = line_width()
    cells = None if width is None else max(width - len(_INDENT) - len(_GOES_ON), _NARROWEST)
    first, *rest = [line] if cells is None else cut(line, cells)
    return [f"{_INDENT}{first}", *(f"{_INDENT}{_GOES_ON}{each}" for each in rest)]


def cut(line: str, cells: int) -> Iterator[str]:
    """A line in pieces of at most `cells` cells, at any place; its tabs as blanks."""
    line, start = line.expandtabs(8), 0
    while start < len(line) or start == 0:
        ahead = line[start : start + _CHARACTERS_OF_A_CELL * cells]
        end = start + fitting(ahead, cells)
        yield line[start:end]
        start = max(end, start + 1)


__all__ = ["cut", "fits", "lines_that_fit", "printed_rows", "screen", "show_lines"]
