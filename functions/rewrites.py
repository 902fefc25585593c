"""Files that a model writes whole: the text that it means, with what it cannot see of the text before.

spec: @whole_writes
"""

from __future__ import annotations

from collections import Counter
from itertools import takewhile

_MARK = "\ufeff"
"""A byte order mark."""


def text_rewrite(old: str | None, new: str | None) -> str | None:
    """`new` as it replaces the file text `old`; NULL or '' for a file that is new.

    A byte order mark, the line ends and the last line feed are those of `old`. A `new` that writes carriage returns itself
    keeps its line ends; one without a text stays empty.
    """
    if not new:
        return new
    if not old:
        return _ended(new, True)
    mark = _MARK if old.startswith(_MARK) else ""
    old = old.removeprefix(_MARK)
    return mark + _with_ends(old, _ended(new.removeprefix(mark), not old or old[-1] in "\r\n"))


def _ended(text: str, closed: bool) -> str:
    """`text` with a line feed at its end, or without one."""
    if closed:
        return text if text.endswith("\n") else text + "\n"
    return text.removesuffix("\n").removesuffix("\r")


def _with_ends(old: str, new: str) -> str:
    """`new` with the line ends of `old`, if it has only line feeds."""
    returns = old.count("\r\n")
    feeds = old.count("\n") - returns
    if "\r" in new or not returns:
        return new if "\r" in new or feeds or "\r" not in old else new.replace("\n", "\r")
    if not feeds:
        return new.replace("\n", "\r\n")
    return _mixed(old.split("\n"), new.split("\n"), "\r" if returns > feeds else "")


def _mixed(old: list[str], new: list[str], usual: str) -> str:
    """Lines that stay keep their ends; others get the `usual` one of the file.

    The lines that stay are those at the beginning and the end of both texts, and between these the lines whose text has one
    kind of end in the old text.
    """
    bare = [line.removesuffix("\r") for line in old]
    head = _shared(bare, new)
    tail = min(_shared(bare[::-1], new[::-1]), len(bare) - head, len(new) - head)
    ended = old[head : len(old) - max(tail, 1)]  # without a last line that has no end
    returned = Counter(line[:-1] for line in ended if line.endswith("\r"))
    kinds = Counter(line.removesuffix("\r") for line in ended)
    middle = [
        line + ("\r" if returned[line] == kinds[line] else "" if not returned[line] else usual)
        if kinds[line]
        else line + usual
        for line in new[head : len(new) - tail]
    ]
    lines = [*old[:head], *middle, *old[len(old) - tail :]]
    return "\n".join([*lines[:-1], new[-1] if not tail else lines[-1]])


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines two texts share at their beginnings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
