"""One table for all measurements: what was measured, the result, the target and whether it was met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One row of the table. `target` is the largest value that is still good, in the unit of `value`, or the smallest one
    where `at_least`; None: none is set.

    `note` says what the figure consists of, `why` what stands in the way where the target is missed.
    """

    what: str
    value: float | None
    unit: str
    target: float | None = None
    note: str = ""
    why: str = ""
    at_least: bool = False

    @property
    def remark(self) -> str:
        """The note, and the reason where the target is missed."""
        return "; ".join(part for part in (self.note, self.why if self.verdict == "MISSED" else "") if part)

    @property
    def verdict(self) -> str:
        """'met', 'MISSED', or nothing where there is no target."""
        if self.target is None or self.value is None:
            return ""
        good = self.value >= self.target if self.at_least else self.value <= self.target
        return "met" if good else "MISSED"


def text(lines: Iterable[Line]) -> str:
    """The table as text, columns aligned."""
    rows = [("measured", "result", "target", "", "note")]
    rows += [(line.what, _figure(line.value, line.unit), _target(line), line.verdict, line.remark) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    what, *middle, note = row
    cells = [what.ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(middle, widths[1:], strict=True)]
    return "  ".join([*cells, note]).rstrip()


def _target(line: Line) -> str:
    return _figure(line.target, line.unit, "≥ " if line.at_least else "≤ ")


def _figure(value: float | None, unit: str, before: str = "") -> str:
    if value is None:
        return ""
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{before}{digits} {unit}".rstrip()
