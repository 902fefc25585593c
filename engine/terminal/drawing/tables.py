"""Draws a table in the cells of a terminal; where its columns do not fit, row by row.

spec: @drawn_answers
"""

from __future__ import annotations

from collections.abc import Sequence

from .folding import folded
from .look import Line, Look, Span, width_of

_NARROWEST = 5
"""The fewest cells of a column that is broken."""


def table(rows: Sequence[Sequence[Line]], aligned: Sequence[str], look: Look) -> list[Line]:
    """The lines of a table whose first row is its head; each cell is a line."""
    natural = [max(1, *(width_of(row[at]) for row in rows if at < len(row))) for at in range(len(aligned))]
    room = look.width - 3 * (len(natural) - 1)
    if room < min(_NARROWEST, max(natural)) * len(natural):
        return _stacked(rows, look)
    widths = _shares(natural, room)
    rule = f"{look.mark('rule')}{look.mark('cross')}{look.mark('rule')}".join(look.mark("rule") * w for w in widths)
    head, *body = rows
    bold = [[span._replace(style=f"strong {span.style}".strip()) for span in cell] for cell in head]
    lines = _row(bold, widths, aligned, look)
    lines.append([Span(rule, "dim")])
    for row in body:
        lines += _row(row, widths, aligned, look)
    return lines


def _shares(natural: Sequence[int], room: int) -> list[int]:
    """The width of each column: those that are wider than their share are cut to it, so that all fit."""
    widths = [0] * len(natural)
    left = sorted(range(len(natural)), key=lambda at: natural[at])
    for place, at in enumerate(left):
        widths[at] = min(natural[at], max(room // (len(left) - place), 1))
        room -= widths[at]
    return widths


def _row(row: Sequence[Line], widths: Sequence[int], aligned: Sequence[str], look: Look) -> list[Line]:
    parts: list[list[Line]] = [folded(cell, width) if cell else [[]] for cell, width in zip(row, widths, strict=False)]
    lines: list[Line] = []
    for at in range(max(map(len, parts))):
        line: Line = []
        for column, (part, width) in enumerate(zip(parts, widths, strict=False)):
            cell = part[at] if at < len(part) else []
            blank = max(width - width_of(cell), 0)
            before = {"right": blank, "center": blank // 2}.get(aligned[column], 0)
            line += [Span(f" {look.mark('side')} ", "dim")] if column else []
            line += [Span(" " * before), *cell, Span(" " * (blank - before))]
        lines.append(_stripped(line))
    return lines


def _stripped(line: Line) -> Line:
    while line and not line[-1].text.strip():
        line.pop()
    return line


def _stacked(rows: Sequence[Sequence[Line]], look: Look) -> list[Line]:
    """Each row as lines of head and value; an empty line parts two rows."""
    head, *body = rows
    lines: list[Line] = []
    for number, row in enumerate(body):
        lines += [[]] if number else []
        for name, cell in zip(head, row, strict=False):
            title = [span._replace(style=f"strong {span.style}".strip()) for span in name]
            lines += folded([*title, Span(": "), *cell], look.width, rest=[Span("  ")], first=[])
    return lines


__all__ = ["table"]
