"""Edits that search: a block of whole lines or, where no line is like it, a part of a line.

spec: @edit_places @edit_syntax
"""

from __future__ import annotations

from typing import NamedTuple

from .fitting import Hand
from .hunks import apply_blocks, search_block
from .lines import Lines, Mismatch, Missing
from .messages import ambiguous_lines, missing_lines, numbered

_COUNTED = 50


class Search(NamedTuple):
    """Lines `old` that become `new`; `part` says that `old` was written in the line of its marker, as a part of a line.

    `hand` tells how the author of all edits of the body writes.
    """

    name: str
    old: list[str]
    new: list[str]
    part: bool = False
    hand: Hand | None = None


def apply_search(lines: Lines, search: Search, warnings: list[str]) -> Lines:
    """`lines` with the one place of a search replaced. Raises `Mismatch`, `Exceeded`."""
    if search.part:
        return _apply_part(lines, search, warnings)
    try:
        return _apply_lines(lines, search, warnings)
    except Missing as missing:
        for again in _without_blank_ends(search):
            try:
                return _apply_lines(lines, again, warnings)
            except Missing:
                pass
        if not any(line.strip() for line in search.old):
            raise
        found = _occurrences(lines.text(), search.old)
        if not found:
            raise missing from None
        return _replace_part(lines, search, found)


def _apply_lines(lines: Lines, search: Search, warnings: list[str]) -> Lines:
    return apply_blocks(lines, [search_block(search.name, search.old, search.new)], search.name, warnings, search.hand)


def _apply_part(lines: Lines, search: Search, warnings: list[str]) -> Lines:
    """A text in the line of its marker: a part of a line, or a line without its indentation."""
    word = search.old[0]
    found = _occurrences(lines.text(), search.old)
    if not found:
        raise Missing(missing_lines(lines.rows, search.old, search.name))
    if len(found) == 1 and lines.rows[_line_of(lines, found[0][0])].strip() == word:
        return _apply_lines(lines, search, warnings)
    return _replace_part(lines, search, found)


def _without_blank_ends(search: Search) -> list[Search]:
    """The search without blank lines at its ends that the text lacks: as many go from the new lines."""
    first, last = _blank_ends(search.old)
    begun, ended = _blank_ends(search.new)
    if (first, last) == (0, 0) or first + last >= len(search.old):
        return []
    if not all(one == other or (one == 1 and other == 0) for one, other in ((first, begun), (last, ended)) if one):
        return []
    new = search.new[min(first, begun) : len(search.new) - min(last, ended)]
    return [search._replace(old=search.old[first : len(search.old) - last], new=new)]


def _blank_ends(lines: list[str]) -> tuple[int, int]:
    """How many blank lines stand at the beginning, and how many at the end of those that are left."""
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    rest = lines[first:]
    return first, next((at for at, line in enumerate(reversed(rest)) if line.strip()), len(rest))


def _occurrences(text: str, old: list[str]) -> list[tuple[int, int]]:
    """Where `old` stands in `text`, whatever its lines end in; at most one more than are counted."""
    found: list[tuple[int, int]] = []
    for ending in ("\n", "\r\n") if len(old) > 1 else ("\n",):
        wanted = ending.join(line.removesuffix("\r") for line in old)
        start = text.find(wanted)
        while start >= 0 and len(found) <= _COUNTED:
            found.append((start, start + len(wanted)))
            start = text.find(wanted, start + 1)
    return sorted(found)


def _replace_part(lines: Lines, search: Search, found: list[tuple[int, int]]) -> Lines:
    """`lines` with the only place of a part replaced to the letter. Raises `Mismatch`."""
    if len(found) > 1:
        raise Mismatch(ambiguous_lines(lines.rows, [_line_of(lines, start) for start, _ in found], search.name))
    text, (start, end) = lines.text(), found[0]
    first, last = _line_of(lines, start), _line_of(lines, end)
    if _splits_word(text, start) or _splits_word(text, end):
        raise Mismatch(
            f"{search.name} stands only inside of a longer word, so it may mean something else. Nothing was changed. "
            f"Search for the whole word:\n{numbered(lines.rows, first)}"
        )
    ending = lines.ending((first, last + 1), lines.kinds(first, last + 1))
    if ending is None and len(search.new) > 1:
        raise Mismatch(
            f"{search.name}: lines end in CR LF and in LF there. Nothing was changed. Change fewer lines at a time."
        )
    new = Lines.of(text[:start] + (ending or "\n").join(line.removesuffix("\r") for line in search.new) + text[end:])
    grown = len(new.rows) - len(lines.rows)
    new.habits = lines.habits
    new.fresh = [*lines.fresh[:first], *[True] * (last - first + 1 + grown), *lines.fresh[last + 1 :]]
    return new


def _splits_word(text: str, at: int) -> bool:
    """Whether letters or digits stand on both sides of an offset."""
    return 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _line_of(lines: Lines, offset: int) -> int:
    """The line of an offset."""
    return min(lines.text().count("\n", 0, offset), len(lines.rows) - 1)
