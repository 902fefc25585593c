"""The lines of a text, prepared for finding other lines in them in ever more tolerant ways."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from itertools import accumulate

from engine.functions.lazy import lazy_regex

MARK = "\ufeff"
"""A byte order mark."""
_PLAIN = str.maketrans("‐‑‒–—―−‘’‚‛“”„‟\xa0", "-------''''\"\"\"\" ")
_SPACES = lazy_regex(r"\s+")
_SHOWN_CANDIDATES = 50


def _same(line: str) -> str:
    return line


def _bare(line: str) -> str:
    return line.removeprefix(MARK).strip()


def plain_line(line: str) -> str:
    """A line without white space around it, with runs of white space and typographic signs made plain."""
    return _SPACES.sub(" ", _bare(line).translate(_PLAIN)).strip()


WAYS: tuple[Callable[[str], str], ...] = (_same, str.rstrip, _bare, plain_line)
"""How lines are changed before they are compared, from the strictest way to the most tolerant."""


class LineView:
    """The lines of a text, prepared for one way of comparing. Tables are made once, at first use."""

    def __init__(self, lines: list[str], way: Callable[[str], str]) -> None:
        self._own = lines
        self._way = way

    @cached_property
    def lines(self) -> list[str]:
        """The lines as they are compared."""
        return [self._way(line) for line in self._own]

    @cached_property
    def _whole(self) -> str:
        return "\n".join(["", *self.lines, ""])

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in the whole: at the line feed before it."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def runs(self, wanted: list[str], begin: int) -> list[int]:
        """The lines from `begin` on at which `wanted` stands; at most as many as a message shows."""
        part = "\n".join(["", *map(self._way, wanted), ""])
        found: list[int] = []
        start = self._whole.find(part, self._starts[min(begin, len(self.lines))])
        while start >= 0 and len(found) <= _SHOWN_CANDIDATES:
            found.append(bisect_left(self._starts, start))
            start = self._whole.find(part, start + 1)
        return found

    def ends_with(self, wanted: list[str]) -> bool:
        """Whether `wanted` are the last lines."""
        return self.lines[-len(wanted) :] == [self._way(line) for line in wanted]
