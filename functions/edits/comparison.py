"""The unified diff between two texts, in bounded time: what would take long to compare is shown as removed and added."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from typing import Any

from engine.functions.lazy import lazy_regex
from engine.functions.limits import DIFF_LINES

Block = tuple[int, int, int]
"""Equal lines: where they begin in the old lines, where in the new lines, how many they are."""

_CONTEXT = 3
"""Unchanged lines around each change."""
_WORK = 5_000_000
"""Steps that comparing two runs of lines may take at worst: about half a second."""
_HUNK = lazy_regex(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def edit_diff(path: str | None, before: str | None, after: str | None) -> str | None:
    """The unified diff between two texts, '' if they are equal; NULL stands for a file that is not there."""
    if path is None:
        return None
    old, new = _lines(before or ""), _lines(after or "")
    if old == new:
        return ""
    first, last = _changed_region(old, new)
    begin = max(0, first - _CONTEXT)
    hunks = _hunks(old[begin : len(old) - last + _CONTEXT], new[begin : len(new) - last + _CONTEXT])
    pieces = [
        f"--- {'/dev/null' if before is None else f'a/{path}'}\n",
        f"+++ {'/dev/null' if after is None else f'b/{path}'}\n",
        *(_HUNK.sub(lambda hunk: _shift(hunk, begin), line) if line.startswith("@@") else line for line in hunks),
    ]
    return "".join(piece if piece.endswith("\n") else piece + _NO_NEWLINE for piece in pieces)


def _lines(text: str) -> list[str]:
    """The lines of `text` with their newlines; the last may lack one."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _changed_region(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are equal at the beginning, and how many of the others at the end."""
    shorter = min(len(old), len(new))
    first = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    rest = shorter - first
    last = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return first, last


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """The lines of the hunks, each hunk with its header."""
    if max(len(old), len(new)) > DIFF_LINES:
        return [_head(0, len(old), 0, len(new)), *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    lines: list[str] = []
    for group in _matcher(old, new).get_grouped_opcodes(_CONTEXT):
        lines.append(_head(group[0][1], group[-1][2], group[0][3], group[-1][4]))
        for tag, first, last, begin, end in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[first:last]]
            else:
                lines += [f"-{line}" for line in old[first:last]] + [f"+{line}" for line in new[begin:end]]
    return lines


def _head(first: int, last: int, begin: int, end: int) -> str:
    """The header of a hunk of the old lines from `first` to `last` and the new lines from `begin` to `end`."""
    return f"@@ -{_range(first, last)} +{_range(begin, end)} @@\n"


def _range(first: int, last: int) -> str:
    count = last - first
    return f"{first + 1}" if count == 1 else f"{first + (count > 0)},{count}"


def _matcher(old: list[str], new: list[str]) -> Any:
    """What is equal in two lists of lines, found by difflib where that is quick, else between lines that occur once."""
    import difflib  # only edits of files need it

    matcher: Any = difflib.SequenceMatcher(None, old, new)
    if _worst(old, new) > _WORK:
        # what it would find itself, and keep under this name
        matcher.matching_blocks = [
            difflib.Match(*block) for block in (*_joined(_anchored(old, new)), (len(old), len(new), 0))
        ]
    return matcher


def _worst(old: list[str], new: list[str]) -> int:
    """The most steps that difflib may take: for each match that it finds it goes through all pairs of equal lines."""
    counted = Counter(new)
    return (len(old) + sum(counted[line] for line in old)) * min(len(old), len(new))


def _anchored(old: list[str], new: list[str]) -> list[Block]:
    """Equal lines: those that occur once in both lists, in order, and what is quickly found between them."""
    import difflib

    found: list[Block] = []
    before = (0, 0)
    left = 4 * _WORK
    for anchor in [*_anchors(old, new), (len(old), len(new))]:
        first, begin = before
        last, end = anchor
        one, other = old[first:last], new[begin:end]
        worst = _worst(one, other)
        if worst and worst <= min(left, _WORK):
            left -= worst
            matches = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
            found += [(first + match.a, begin + match.b, match.size) for match in matches if match.size]
        if last < len(old):
            found.append((last, end, 1))
        before = (last + 1, end + 1)
    return found


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The most lines that occur once in both lists and stand in the same order, as indexes into both."""
    in_old, in_new = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(new) if in_new[line] == 1}
    ends: list[int] = []
    last: list[tuple[int, int]] = []
    previous: dict[int, int | None] = {}
    numbers: dict[int, int] = {}
    for number, line in enumerate(old):
        if in_old[line] != 1 or line not in places:
            continue
        place = places[line]
        numbers[place] = number
        length = bisect_left(ends, place)
        previous[place] = ends[length - 1] if length else None
        ends[length : length + 1] = [place]
    step = ends[-1] if ends else None
    while step is not None:
        last.append((numbers[step], step))
        step = previous[step]
    return last[::-1]


def _joined(blocks: list[Block]) -> list[Block]:
    """`blocks` with neighbours made one."""
    joined: list[Block] = []
    for first, begin, size in blocks:
        if joined and (joined[-1][0] + joined[-1][2], joined[-1][1] + joined[-1][2]) == (first, begin):
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + size)
        else:
            joined.append((first, begin, size))
    return joined


def _shift(hunk: re.Match[str], lines: int) -> str:
    """A hunk's header moved down by `lines`."""
    return f"@@ -{int(hunk[1]) + lines}{hunk[2] or ''} +{int(hunk[3]) + lines}{hunk[4] or ''} @@"
