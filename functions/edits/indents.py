"""The indentation of new lines, learned from the lines of a block that were found although theirs differs.

Each depth that was found is known. For another depth all rules that explain every line found are asked: the block is moved
by one indentation, or has other units. If they disagree, the answer is None.

spec: @edit_indentation
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

_UNITS = ("\t", "  ", "   ", "    ", " " * 8)


class Rule(NamedTuple):
    """One way in which a block may have been written: what it gives for an indentation, and what it explains."""

    gives: Callable[[str], str | None]
    spread: int = 0
    """The columns of a tab for which blanks were written, 0 otherwise."""

    def explains(self, written: str, found: str) -> bool:
        """Whether the rule leads from what is written to what was found."""
        if self.spread:
            return "\t" not in written and found.expandtabs(self.spread) == written
        return self.gives(written) == found


def indent_of(line: str) -> str:
    """The white space at the beginning of `line`."""
    return line[: len(line) - len(line.lstrip())]


class Indents:
    """What the indentation of the text is for one that is written; `pairs` are (written, found)."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._known = dict(pairs)
        self.same = all(written == found for written, found in pairs)
        plain = all(not (written + found).strip(" \t") for written, found in pairs)
        whole = plain and all(self._known[written] == found for written, found in pairs)
        self._rules = [rule for rule in _rules(pairs) if whole and all(rule.explains(*each) for each in pairs)]
        self._usable = whole and (bool(self._rules) or _rises(self._known))
        self._flat = not any(self._known)

    def of(self, written: str) -> str | None:
        """The indentation in the text for `written`; None where it is not certain."""
        if self.same:
            return written
        if not self._usable:
            return None
        if written in self._known:
            return self._known[written]
        if self._flat and (moved := _moved(self._known.get("", ""), written)) is not None:
            return moved
        found = {found for rule in self._rules if (found := rule.gives(written)) is not None}
        return found.pop() if len(found) == 1 else None


def _rises(known: dict[str, str]) -> bool:
    """Whether what is written deeper was found deeper."""
    depths = sorted((len(written.expandtabs(8)), len(found.expandtabs(8))) for written, found in known.items())
    return all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(depths))


def _rules(pairs: list[tuple[str, str]]) -> list[Rule]:
    """The rules that explain the first pair."""
    if not pairs:
        return []
    written, found = pairs[0]
    rules: list[Rule] = []
    if found.endswith(written):
        rules.append(_move(found[: len(found) - len(written)], mixed=any(_is_mixed(each) for _, each in pairs)))
    if written.endswith(found):
        rules.append(_unmove(written[: len(written) - len(found)]))
    rules += [_expand(width) for width in (2, 3, 4, 8)]
    for one in _UNITS:
        for other in _UNITS:
            if one != other and _holds(written, one) and _holds(found, other):
                levels = len(found) // len(other) - len(written) // len(one)
                if levels == 0 or (levels > 0 and "\t" in (one, other)):
                    rules.append(_scale(one, other, levels))
    return rules


def _holds(indent: str, unit: str) -> bool:
    return indent == unit * (len(indent) // len(unit))


def _is_mixed(indent: str) -> bool:
    return " " in indent and "\t" in indent


def _moved(by: str, written: str) -> str | None:
    """`written` behind `by`; None where one has tabs and the other blanks."""
    return None if _is_mixed(by + written) else by + written


def _move(by: str, mixed: bool) -> Rule:
    return Rule(lambda written: by + written if mixed else _moved(by, written))


def _unmove(by: str) -> Rule:
    return Rule(lambda written: written[len(by) :] if by and written.startswith(by) else None)


def _expand(width: int) -> Rule:
    """Blanks are written for tabs of so many columns; a rest of blanks is not certain."""

    def gives(written: str) -> str | None:
        tabs, rest = divmod(len(written), width)
        return None if rest or "\t" in written else "\t" * tabs

    return Rule(gives, width)


def _scale(one: str, other: str, levels: int) -> Rule:
    """A level is written as `one` and is `other` in the text, where it stands so many levels deeper."""

    def gives(written: str) -> str | None:
        return other * (len(written) // len(one) + levels) if _holds(written, one) else None

    return Rule(gives)
