"""Edits in the notation of Aider, Cline and Roo: `<<<<<<< SEARCH`, old lines, `=======`, new lines, `>>>>>>> REPLACE`.

They become the same operations as markers. The reader skips file names, fences and sentences around the blocks, and the
line numbers that Roo gives: a place is found by its text.
"""

from __future__ import annotations

from engine.functions.lazy import lazy_regex

from .lines import without_transport
from .markers import Operation, Parsed
from .mixed import other_edit, told

_HEAD = lazy_regex(r"(?:<{5,9}|-{5,9}) ?(?:SEARCH|ORIGINAL)>?:?[ \t\r]*")
_TAIL = lazy_regex(r"(?:>{5,9}|\+{5,9}) ?(?:REPLACE|UPDATED)<?[ \t\r]*")
_DIVIDER = lazy_regex(r"={5,9}[ \t\r]*")
_NUMBER = lazy_regex(r":(?:start|end)_line: *\d+\s*")
_ANY_NUMBER = lazy_regex(rf"(?m)^\ufeff?{_NUMBER.pattern}$")
_RULE = lazy_regex(r"-{5,9}\s*")
_ESCAPED = lazy_regex(r"\\(?=<{5,9}|>{5,9}|={5,9}|-{5,9}|\+{5,9}|:(?:start|end)_line:)")
_ANY_HEAD = lazy_regex(rf"(?m)^{_HEAD.pattern}$")
_FENCE = lazy_regex(r"(?:```|~~~)[`~]*[\w+.-]*\s*")
_NAME = lazy_regex(r"[#*` ]*(?:[Ff]ile:? *)?([\w./\\-]*[./][\w./\\-]*)[`*:\s]*")
_LONGEST_HEAD = 2_000
_SHAPE = "<<<<<<< SEARCH\nold lines\n=======\nnew lines\n>>>>>>> REPLACE"


class _Unreadable(Exception):  # noqa: N818 - it never leaves this module
    """The blocks cannot be read; the message tells the model what to correct."""


def may_hold_block(body: str) -> bool:
    """Whether `body` has SEARCH or ORIGINAL in it, one of which every block has in its first line."""
    return "SEARCH" in body or "ORIGINAL" in body


def begins_with_block(body: str) -> bool:
    """Whether `body` begins with a block; a file name and a fence may stand before it."""
    for line in body[:_LONGEST_HEAD].lstrip("\ufeff \t\r\n").split("\n", 4)[:4]:
        if _HEAD.fullmatch(line):
            return True
        if line.strip() and not _FENCE.fullmatch(line) and not _NAME.fullmatch(line):
            return False
    return False


def holds_block(body: str) -> bool:
    """Whether a block begins anywhere in `body`."""
    return may_hold_block(body) and _ANY_HEAD.search(body) is not None


def parse_blocks(body: str, current: str | None = None) -> Parsed:
    """Read the blocks of `body`. Line numbers are left out of a search, unless `current` holds such lines itself."""
    numbers = not (current and _ANY_NUMBER.search(current))
    try:
        return Parsed(operations=_operations(without_transport(body).split("\n"), numbers))
    except _Unreadable as problem:
        advice = f"Write:\n{_SHAPE}\nTo write such a text on purpose, wrap it in <<NEW."
        return Parsed(error=f"{problem}. Nothing was changed. {advice}")


def _operations(lines: list[str], numbers: bool) -> list[Operation]:
    operations: list[Operation] = []
    names: set[str] = set()
    head = _next_head(lines, 0)
    outside = 0
    while head < len(lines):
        _check_other(lines[outside:head])
        name = _name_above(lines, outside, head)
        if name:
            names.add(name)
        if len(names) > 1:
            raise _Unreadable(f"the blocks name several files, {', '.join(sorted(names))}: one set changes one")
        tail = next((at for at in range(head + 1, len(lines)) if _TAIL.fullmatch(lines[at])), len(lines))
        following = _next_head(lines, head + 1)
        if tail == len(lines) or following < tail:
            raise _Unreadable(f"the SEARCH block in line {head + 1} of the body has no '>>>>>>> REPLACE'")
        operations.append(_operation(lines[head + 1 : tail], head + 1, numbers))
        if any(_TAIL.fullmatch(line) for line in lines[tail + 1 : following]):
            raise _Unreadable(f"the SEARCH block in line {head + 1} of the body has more than one '>>>>>>> REPLACE'")
        head, outside = following, tail + 1
    _check_other(lines[outside:])
    return operations


def _check_other(outside: list[str]) -> None:
    line = other_edit("\n".join(outside)) if any(each.strip() for each in outside) else None
    if line is not None:
        raise _Unreadable(told(line))


def _next_head(lines: list[str], begin: int) -> int:
    return next((at for at in range(begin, len(lines)) if _HEAD.fullmatch(lines[at])), len(lines))


def _name_above(lines: list[str], begin: int, head: int) -> str | None:
    """The file name in the last line between two blocks that is neither empty nor a fence; None where it holds none."""
    above = (line for line in reversed(lines[begin:head]) if line.strip() and not _FENCE.fullmatch(line))
    found = _NAME.fullmatch(next(above, ""))
    return found[1] if found else None


def _operation(lines: list[str], number: int, numbers: bool) -> Operation:
    """The edit of one block; `lines` stand between its head and its tail."""
    dividers = [at for at, line in enumerate(lines) if _DIVIDER.fullmatch(line)]
    usual = [at for at in dividers if lines[at].rstrip() == "======="]
    if len(dividers) > 1 and len(usual) == 1:
        dividers = usual
    if len(dividers) != 1:
        found = f"{len(dividers)} lines '=======', not one" if dividers else "no line '======='"
        raise _Unreadable(f"the SEARCH block in line {number} of the body has {found}")
    begin = 0
    while numbers and begin < dividers[0] and _NUMBER.fullmatch(lines[begin]):
        begin += 1
    begin += 0 < begin < dividers[0] and bool(_RULE.fullmatch(lines[begin]))
    if 0 < begin == dividers[0]:
        raise _Unreadable(
            f"the SEARCH block in line {number} of the body has a line number, and no lines to search for"
        )
    return Operation("edit", _text(lines[dividers[0] + 1 :]), _text(lines[begin : dividers[0]]))


def _text(lines: list[str]) -> list[str]:
    return [_ESCAPED.sub("", line, count=1) if line.startswith("\\") else line for line in lines]
