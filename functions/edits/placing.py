"""Where a block of lines stands in a text: the one module that decides it, for every notation.

A block is searched for exactly; only where that finds nothing, without white space around lines; then, in a patch, with
runs of white space and typographic signs made plain. The first search that finds anything decides. Several places are a
conflict, unless a line number, a heading or the end of the file leaves one of them. The order of blocks does not count.

spec: @edit_places
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .lines import MARK, Lines, Mismatch, Missing
from .messages import ambiguous_lines, missing_lines

_PLAIN = str.maketrans("‐‑‒–—―−‘’‚‛“”„‟\xa0", "-------''''\"\"\"\" ")
_SPACES = lazy_regex(r"\s+")
_MOST = 50
"""Most places that are counted, and most headings that are tried."""
_BRACKETS = tuple("{})]")
EXACT, BARE, PLAIN = "exact", "bare", "plain"


class Wanted(NamedTuple):
    """A block to find: its `lines`, and what else is said of its place; `name` is what messages call it."""

    name: str
    lines: list[str]
    headings: list[str]
    number: int | None = None
    at_end: bool = False
    plain: bool = False


class Found(NamedTuple):
    """The index of the first line of a block, and the way in which it was found."""

    start: int
    way: str


def bare_line(line: str) -> str:
    """A line without white space and a byte order mark around it."""
    return line.removeprefix(MARK).strip()


def unsigned(line: str) -> str:
    """A line with typographic signs made plain."""
    return line.translate(_PLAIN)


def plain_line(line: str) -> str:
    """A line without white space around it, with runs of white space and typographic signs made plain."""
    return _SPACES.sub(" ", unsigned(bare_line(line))).strip()


class Places:
    """Finds blocks in one text. Tables are made once, at first use."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self._views: dict[str, _View] = {}

    def place(self, wanted: Wanted) -> Found:
        """The one place of a block. Raises `Mismatch`."""
        begun = self.named(wanted)
        if begun is not None:
            return Found(begun, EXACT)
        scopes = self._scopes(wanted)
        for way in (EXACT, BARE, *((PLAIN,) if wanted.plain else ())):
            hits = self._hits(wanted, way, scopes)
            if hits:
                return Found(self._chosen(wanted, hits), way)
        if wanted.at_end and self._hits(wanted._replace(at_end=False), BARE, scopes):
            raise Mismatch(f"{wanted.name} is to be the end of the file, and its lines are not. Nothing was changed.")
        raise Missing(missing_lines(self.lines.rows, wanted.lines, wanted.name))

    def named(self, wanted: Wanted) -> int | None:
        """The place that a line number names, if the block stands there to the letter."""
        if wanted.number is None or not 0 < wanted.number <= len(self.lines.rows):
            return None
        start = wanted.number - 1
        end = start + len(wanted.lines)
        first = self.lines.mark if start == 0 else ""
        there = [
            row + end.rstrip("\n")
            for row, end in zip(self.lines.rows[start:end], self.lines.ends[start:end], strict=True)
        ]
        return start if there and [first + there[0], *there[1:]] == wanted.lines else None

    def below(self, wanted: Wanted) -> int:
        """Where lines go of which only a heading says the place: below it. Raises `Mismatch`."""
        begins = [scope.start for scope in self._scopes(wanted)]
        if len(begins) > 1:
            raise Mismatch(ambiguous_lines(self.lines.rows, [at - 1 for at in begins], f"'@@ {wanted.headings[-1]}'"))
        return begins[0]

    def others(self, wanted: Wanted, found: Found) -> list[int]:
        """Where else the block stands if white space around lines does not count."""
        return [at for at in self._view(BARE).runs(wanted.lines, 0) if at != found.start]

    def _view(self, way: str, raw: bool = False) -> _View:
        key = f"{way}{raw}"
        if key not in self._views:
            rows = self.lines.rows
            if raw and way == EXACT:
                rows = [row + "\r" * (end == "\r\n") for row, end in zip(rows, self.lines.ends, strict=True)]
            self._views[key] = _View(rows, _WAYS[way])
        return self._views[key]

    def _hits(self, wanted: Wanted, way: str, scopes: list[_Scope]) -> list[int]:
        """The places of a block that fit all that is said of them; a block whose lines hold CR is searched with them."""
        view = self._view(way, any(line.endswith("\r") for line in wanted.lines))
        if wanted.at_end:
            last = len(self.lines.rows) - len(wanted.lines)
            return [last] if last >= 0 and view.stands(wanted.lines, last) else []
        for begins, ends in (("start", "end"), ("heading", "end"), ("start", "last")):
            hits = sorted(
                {at for scope in scopes for at in view.runs(wanted.lines, getattr(scope, begins), getattr(scope, ends))}
            )
            if hits:
                break
        if wanted.number is not None and len(hits) > 1 and view.stands(wanted.lines, wanted.number - 1):
            return [wanted.number - 1]
        return hits

    def _chosen(self, wanted: Wanted, hits: list[int]) -> int:
        """The only hit. Raises `Mismatch` where there are several, or another one stands where the line number says."""
        start, said = hits[0], (wanted.number or 0) - 1
        contradicted = wanted.number is not None and said != start and self._view(BARE).stands(wanted.lines, said)
        if len(hits) == 1 and not contradicted:
            return start
        told = ambiguous_lines(self.lines.rows, hits if len(hits) > 1 else sorted([start, said]), wanted.name)
        raise Mismatch(told)

    def _scopes(self, wanted: Wanted) -> list[_Scope]:
        """The lines below the headings, each below the one before. Raises `Mismatch` for a heading that is no line."""
        scopes = [_Scope(0, len(self.lines.rows), len(self.lines.rows))]
        for heading in wanted.headings:
            rows = self._headings(heading, scopes)
            if not rows:
                name = f"the line '@@ {heading}' above {wanted.name}"
                raise Mismatch(missing_lines(self.lines.rows, [heading], name))
            if len(rows) > _MOST:
                raise Mismatch(ambiguous_lines(self.lines.rows, rows, f"'@@ {heading}'"))
            scopes = [_Scope(row + 1, self._end_of(row), len(self.lines.rows)) for row in rows]
        return scopes

    def _headings(self, heading: str, scopes: list[_Scope]) -> list[int]:
        """The lines that are `heading`; without one those that begin with it, for it may lack the end of the line."""
        view, bare = self._view(BARE), bare_line(heading)
        for ends in ("end", "last"):
            whole = {at for scope in scopes for at in view.runs([heading], scope.start, getattr(scope, ends))}
            if whole:
                return sorted(whole)
        begun = (
            at
            for scope in scopes
            for at in range(scope.start, scope.end)
            if view.keys[at].startswith(bare) and not (view.keys[at][len(bare)].isalnum() and bare[-1:].isalnum())
        )
        return sorted(set(begun)) if bare else []

    def _end_of(self, row: int) -> int:
        """Where the block of a heading ends: at the next line that is indented no deeper, brackets left out."""
        rows = self.lines.rows
        depth = _depth(rows[row])
        for at in range(row + 1, len(rows)):
            if rows[at].strip() and _depth(rows[at]) <= depth and not rows[at].lstrip().startswith(_BRACKETS):
                return at
        return len(rows)


def _depth(row: str) -> int:
    bare = row.lstrip()
    return len(row[: len(row) - len(bare)].expandtabs(8))


class _Scope(NamedTuple):
    """Lines below a heading: from `start` to the `end` of its block, or to the `last` of the text.

    `heading` is the line of the heading itself, which authors repeat as the first line of a hunk.
    """

    start: int
    end: int
    last: int

    @property
    def heading(self) -> int:
        """The line above `start`, if there is one."""
        return max(0, self.start - 1)


def _same(line: str) -> str:
    return line.removeprefix(MARK)


_WAYS: dict[str, Callable[[str], str]] = {EXACT: _same, BARE: bare_line, PLAIN: plain_line}


class _View:
    """The lines of a text, prepared for one way of comparing."""

    def __init__(self, rows: list[str], way: Callable[[str], str]) -> None:
        self._rows = rows
        self._way = way
        self._sought: tuple[list[str], str] | None = None
        """What was looked for last, and how it would stand in the whole: it is looked for below each of many headings."""

    @cached_property
    def keys(self) -> list[str]:
        """The lines as they are compared."""
        return [self._way(row) for row in self._rows]

    @cached_property
    def _whole(self) -> str:
        return "\n".join(["", *self.keys, ""])

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in the whole: at the line feed before it."""
        return list(accumulate((len(key) + 1 for key in self.keys), initial=0))

    def runs(self, wanted: list[str], begin: int, end: int | None = None) -> list[int]:
        """The lines from `begin` to `end` at which `wanted` begins; at most one more than are counted."""
        last = len(self.keys) if end is None else end
        return list(self._runs(wanted, begin, last)) if begin < last else []

    def _runs(self, wanted: list[str], begin: int, last: int) -> Iterator[int]:
        if self._sought is None or self._sought[0] is not wanted:
            self._sought = wanted, "\n".join(["", *map(self._way, wanted), ""])
        part = self._sought[1]
        until = self._starts[last - 1] + len(part)
        start, found = self._whole.find(part, self._starts[begin], until), 0
        while start >= 0 and found <= _MOST:
            found += 1
            yield bisect_left(self._starts, start)
            start = self._whole.find(part, start + 1, until)

    def stands(self, wanted: list[str], at: int) -> bool:
        """Whether `wanted` stands at the line `at`."""
        return at >= 0 and self.keys[at : at + len(wanted)] == [self._way(line) for line in wanted]
