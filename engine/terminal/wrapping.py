"""Breaks lines at the width of a terminal, in its cells: a Chinese character takes two, a combining mark none."""

from __future__ import annotations

import shutil
import sys

_NARROWEST = 10
_JOINER = "\u200d"


def line_width() -> int | None:
    """The cells of a line on stdout; None where it is no terminal, whose lines are as long as they are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, width: int | None, first: str = "", rest: str = "") -> list[str]:
    """The lines of `text`, the first one behind `first`, others behind `rest`, broken at `width` cells, at blanks if any.

    So no text begins a line of the screen, however long it is.
    """
    lines: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        for piece in _pieces(
            line, None if width is None else max(width - len(rest), _NARROWEST), len(first) - len(rest)
        ):
            lines.append((first if not lines else rest) + piece)
    return lines


def _pieces(line: str, width: int | None, more: int) -> list[str]:
    """A line in pieces of at most `width` cells; `more` is what the first one has less."""
    pieces = []
    room = None if width is None else max(width - more, _NARROWEST)
    while room is not None and cells(line) > room:
        end = fitting(line, room)
        blank = line.rfind(" ", 0, end + 1)
        end = blank if line[: max(blank, 0)].strip() else end
        pieces.append(line[:end])
        line, room = line[end:].lstrip(" "), width
    return [*pieces, line]


def cells(text: str) -> int:
    """The cells that a text takes at a terminal; `rich` is not imported for plain ones."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fitting(line: str, room: int) -> int:
    """How many characters of `line` fit into `room` cells, at least one; marks and joined emoji are not parted."""
    if line.isascii():
        return min(max(room, 1), len(line))
    from rich.cells import get_character_cell_size as cells_of

    used = 0
    end = 0
    for at, character in enumerate(line):
        used += cells_of(character)
        if used > room:
            break
        if not _continues(line, at + 1):
            end = at + 1
    return end or next((at for at in range(1, len(line)) if not _continues(line, at)), len(line))


def _continues(line: str, at: int) -> bool:
    """Whether the character at `at` belongs to the one before it."""
    from rich.cells import get_character_cell_size as cells_of

    return at < len(line) and (cells_of(line[at]) == 0 or line[at - 1] == _JOINER)


__all__ = ["cells", "fitting", "line_width", "wrapped"]
