"""A text as lines, each with the ending that it has, and what becomes of them when runs of lines are replaced.

Every edit is made here, whatever its notation: lines that stay keep their bytes, new ones end as the lines of their place.

spec: @edit_places
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

_INNER_TAB = lazy_regex(r"\S[^\t\n]*\t")
MARK = "\ufeff"
"""A byte order mark, which stays at the beginning."""


class Mismatch(Exception):  # noqa: N818 - an outcome, not a defect
    """An edit has no place, several, or is not certain; the message is for the model."""

    outcome = "conflict"


class Missing(Mismatch):
    """A block stands nowhere in the text."""


class NoText(Mismatch):
    """There is no text to search in."""

    outcome = "not_found"


class Unreadable(Mismatch):
    """An edit cannot be read; the message says how to write it."""

    outcome = "validation"


class Run(NamedTuple):
    """The lines from `start` to `end` become `rows`, which end in `ends`; None where no ending is certain.

    `closed` says that the last of them is written with its ending, even in place of a last line without one.
    """

    start: int
    end: int
    rows: list[str]
    ends: list[str | None]
    closed: bool = False


class Habits:
    """How a text is indented: whether lines begin with tabs, or with two blanks and more."""

    def __init__(self, rows: list[str]) -> None:
        self._rows = rows

    @cached_property
    def tabs(self) -> bool:
        """Whether a line begins with a tab."""
        return any(row.startswith("\t") for row in self._rows)

    @cached_property
    def blanks(self) -> bool:
        """Whether a line begins with two blanks, and holds more."""
        return any(row.startswith("  ") and row.strip() for row in self._rows)

    @cached_property
    def blank_rows(self) -> bool:
        """Whether a line holds white space alone."""
        return any(row.isspace() for row in self._rows)

    @cached_property
    def inner_tabs(self) -> bool:
        """Whether a tab stands behind the first letter of a line."""
        return any(_INNER_TAB.match(row.lstrip()) for row in self._rows)


@dataclass
class Lines:
    """The lines of a text: `rows` without endings, `ends` as ``\\n``, ``\\r\\n`` or, of a last line, empty.

    `fresh` holds, per line, whether an edit of this body has written it, `habits` how the text was indented before.
    """

    mark: str = ""
    rows: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)
    habits: Habits = field(default_factory=lambda: Habits([]))

    @classmethod
    def of(cls, text: str) -> Lines:
        """The lines of `text`."""
        mark = MARK if text.startswith(MARK) else ""
        rows = text[len(mark) :].split("\n")
        last = rows.pop()
        ends = ["\n"] * len(rows)
        for at, row in enumerate(rows) if "\r" in text else ():
            if row.endswith("\r"):
                rows[at], ends[at] = row[:-1], "\r\n"
        if last:
            rows.append(last)
            ends.append("")
        return cls(mark, rows, ends, [False] * len(rows), Habits(rows))

    def text(self) -> str:
        """The text that the lines make."""
        return self.mark + "".join(row + end for row, end in zip(self.rows, self.ends, strict=True))

    def kinds(self, start: int = 0, end: int | None = None) -> set[str]:
        """The endings of the lines from `start` to `end`."""
        return set(self.ends[max(0, start) : end]) - {""}

    def ending(self, run: tuple[int, int], seen: Iterable[str] = ()) -> str | None:
        """What new lines in place of `run` end in, where they do not say so; None where it is not certain.

        The lines that were searched and found end in `seen`: that decides where it is one kind. Else all lines do, or the
        neighbours.
        """
        found = set(seen)
        if len(found) == 1:
            return found.pop()
        usual = self.kinds()
        if len(usual) < 2:
            return usual.pop() if usual else "\n"
        near = self.kinds(run[0] - 1, run[1] + 1)
        return near.pop() if len(near) == 1 and (found or near == {"\n"}) else None

    def replaced(self, runs: list[Run], ended: bool | None = None) -> Lines:
        """The lines after `runs`, which are in order; `ended` says whether a line feed ends them, None: as before.

        Raises `Mismatch` where a line needs an ending and none is certain.
        """
        new = Lines(self.mark, habits=self.habits)
        position = 0
        for run in runs:
            new._copy(self, position, run.start)
            new._add(run, bare=not ended and run.end == len(self.rows) and self.ends[-1:] == [""])
            position = run.end
        new._copy(self, position, len(self.rows))
        new._close(ended)
        return new

    def _copy(self, other: Lines, start: int, end: int) -> None:
        self.rows += other.rows[start:end]
        self.ends += other.ends[start:end]
        self.fresh += other.fresh[start:end]

    def _add(self, run: Run, bare: bool) -> None:
        """Add the new lines of a run; `bare` says that the text ends there, without a line feed."""
        ends = list(run.ends)
        if self.ends[-1:] == [""] and ends:
            self.ends[-1] = _certain(ends[0], self.rows[-1])
        if bare and ends and run.rows[-1] and not run.closed:
            ends[-1] = ""
        self.rows += run.rows
        self.ends += [_certain(end, row) for row, end in zip(run.rows, ends, strict=True)]
        self.fresh += [True] * len(run.rows)

    def _close(self, ended: bool | None) -> None:
        """Give each line but the last an ending, and the last what `ended` says."""
        while "" in self.ends[:-1]:
            at = self.ends.index("")
            self.ends[at] = self.ends[at - 1] or self.ends[at + 1] or "\n"
        if ended is not None and self.rows:
            usual = self.kinds()
            self.ends[-1] = (self.ends[-1] or (usual.pop() if len(usual) == 1 else "\n")) if ended else ""


def _certain(end: str | None, row: str) -> str:
    if end is None:
        raise Mismatch(
            f"Lines end in CR LF and in LF there, so it is not certain how {row[:80]!r} shall end. Nothing was changed. "
            "Change fewer lines at a time, all of which end alike."
        )
    return end


def without_transport(body: str) -> str:
    """`body` with LF for CR LF, where all its lines end in CR LF: then they tell nothing of the text."""
    feeds = body.count("\n")
    return body.replace("\r\n", "\n") if feeds and body.count("\r\n") == feeds else body
