"""Edit markers: the `<<IDENT … IDENT` blocks that say how a body changes an entry.

IDENT begins with a keyword, which names the operation; the rest is free, so that a block can hold other blocks. A block
without a keyword wraps a whole new body. `<<:::path`, as packets show it, is not a marker.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

KEYWORDS = ("NEW", "PREPEND", "APPEND", "REPLACE", "DELETE", "SEARCH")
_OPENER = lazy_regex(r"<<([A-Z][A-Za-z0-9_]*)(?=\s|\Z)")
_CLOSER = lazy_regex(r"(?<!\S)[A-Z][A-Za-z0-9_]*(?=[\s<>]|\Z)")
_PARTNER = "<<REPLACE"
"""The index key for all openers that begin with REPLACE; no identifier has this form."""
_INNER = lazy_regex(r"(?m)^[ \t]*<<([A-Z][A-Za-z0-9_]*)")
_LINES_FOLLOW = lazy_regex(r"[ \t]*\r?\n")
_LINE_ENDS = lazy_regex(r"[ \t\r]*(?:\n|\Z)|<")
_EXAMPLE = "<<SEARCH\nold lines\nSEARCH\n<<REPLACE\nnew lines\nREPLACE"


class Operation(NamedTuple):
    """One change: `op` is new, prepend, append, replace, delete or edit.

    `search` is the region that delete and edit look for, `body` the new text of all but delete.
    """

    op: str
    body: str = ""
    search: str | None = None


@dataclass(slots=True)
class Parsed:
    """The content of a body: operations in order, none if it is `plain`; `error` tells the model what to correct."""

    operations: list[Operation] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    plain: bool = False


class _Block(NamedTuple):
    ident: str
    content: str
    end: int
    closed: bool

    @property
    def keyword(self) -> str:
        return next((keyword for keyword in KEYWORDS if self.ident.startswith(keyword)), "")


class _Broken(Exception):  # noqa: N818 - it never leaves this module
    """The markers cannot be read; the message tells the model what to correct."""


def parse_markers(body: str) -> Parsed:
    """Read the markers of `body` and skip the text between blocks."""
    parsed = Parsed()
    try:
        blocks = _Reader(body).read()
        parsed.operations = _pair(blocks)
    except _Broken as broken:
        parsed.error = str(broken)
        return parsed
    parsed.plain = not blocks
    return parsed


class _Reader:
    """Reads the blocks of one body. It indexes the words, so that any text takes linear time."""

    def __init__(self, body: str) -> None:
        self.body = body
        self.blocks: list[_Block] = []
        self.openers: dict[str, list[int]] = {}
        self.closers: dict[str, list[int]] = {}
        self.alone: dict[str, list[int]] = {}
        for opener in _OPENER.finditer(body):
            self.openers.setdefault(opener[1], []).append(opener.start())
            if opener[1].startswith("REPLACE"):
                self.openers.setdefault(_PARTNER, []).append(opener.start())
        for word in _CLOSER.finditer(body) if self.openers else ():
            if word[0] in self.openers:
                self.closers.setdefault(word[0], []).append(word.start())
                if self._is_alone(word):
                    self.alone.setdefault(word[0], []).append(word.start())

    def _is_alone(self, word: re.Match[str]) -> bool:
        """Whether a closer has its line to itself, or shares it with the end of a tag."""
        line = self.body.rfind("\n", 0, word.start()) + 1
        return self.body[line : word.start()].strip(" \t") == "" and bool(_LINE_ENDS.match(self.body, word.end()))

    @property
    def end(self) -> int:
        """Where the last block ended."""
        return self.blocks[-1].end if self.blocks else 0

    def read(self) -> list[_Block]:
        """The blocks in order; only the last can lack its closer."""
        position = 0
        while opener := _OPENER.search(self.body, position):
            block = self._block(opener) if self._may_open(opener.start()) else None
            if block is not None:
                self.blocks.append(block)
            position = opener.end() if block is None else block.end
        return self.blocks

    def _may_open(self, start: int) -> bool:
        """An opener stands at the beginning, behind white space or `>`, or directly behind a closer."""
        return start == self.end or self.body[start - 1].isspace() or self.body[start - 1] == ">"

    def _block(self, opener: re.Match[str]) -> _Block | None:
        """The block that begins here; None for a shift operator or a here document inside of plain text."""
        ident, begin = opener[1], opener.end()
        line = self.body[max(self.end, self.body.rfind("\n", 0, opener.start()) + 1) : opener.start()]
        leads_line = not line.strip() or line.endswith(">")
        first = not self.blocks and leads_line and not self.body[: opener.start()].strip()
        if not ident.startswith(KEYWORDS) and not first and not (self.blocks and leads_line):
            return None
        closer = self._closer(ident, begin)
        if closer is None:
            meant = leads_line and (first or ident.startswith(KEYWORDS))
            return _Block(ident, _trim(self.body[begin:]), len(self.body), closed=False) if meant else None
        return _Block(ident, _trim(self.body[begin : closer[0]]), closer[1], closed=True)

    def _closer(self, ident: str, begin: int) -> tuple[int, int] | None:
        """Where the content ends, and where the closer ends; None without a closer.

        Where the content begins on a new line, a closer alone on its line takes precedence over the same word in a
        sentence, unless the block would then contain another block.
        """
        place = _first_from(self.closers.get(ident, []), begin)
        if place is None:
            return None
        own_line = _first_from(self.alone.get(ident, []), begin)
        if own_line is None or not _LINES_FOLLOW.match(self.body, begin):
            return place, place + len(ident)
        start = self.body.rfind("\n", 0, own_line) + 1
        if self._opens_another(ident, begin, start):
            return place, place + len(ident)
        return start, own_line + len(ident)

    def _opens_another(self, ident: str, begin: int, end: int) -> bool:
        """Whether the block would hold another opener of its name, or a SEARCH its own REPLACE."""
        names = (ident, _PARTNER) if ident.startswith("SEARCH") else (ident,)
        inner = (_first_from(self.openers.get(name, []), begin) for name in names)
        return any(place is not None and place < end for place in inner)


def _first_from(places: list[int], begin: int) -> int | None:
    """The first of the ascending `places` that is not before `begin`."""
    index = bisect_left(places, begin)
    return places[index] if index < len(places) else None


def _trim(content: str) -> str:
    """`content` without the one newline at each end that belongs to the markers.

    If the opener's line ends with `\\n`, a `\\r` before the closer's line is text.
    """
    opened, feed, rest = content.partition("\n")
    alone = bool(feed) and not opened.strip()
    content = rest if alone else content
    if content.endswith("\n"):
        windows = content.endswith("\r\n") and (opened.endswith("\r") or not alone)
        content = content[: -2 if windows else -1]
    return content


def _pair(blocks: list[_Block]) -> list[Operation]:
    """The operations of the blocks: a SEARCH and the REPLACE after it make one."""
    operations: list[Operation] = []
    queue = iter(blocks)
    for block in queue:
        if block.keyword == "SEARCH":
            operations.append(_edit(block, next(queue, None)))
        elif block.keyword == "DELETE":
            _check_open(block)
            operations.append(Operation("delete", search=block.content))
        else:
            _check_open(block)
            operations.append(Operation((block.keyword or "REPLACE").lower(), block.content))
    return operations


def _edit(search: _Block, replace: _Block | None) -> Operation:
    if not search.closed:
        raise _Broken(f"<<{search.ident} has no closing {search.ident}. Write:\n{_EXAMPLE}")
    if replace is None or replace.keyword != "REPLACE":
        found = f"<<{replace.ident} follows" if replace else "nothing follows"
        raise _Broken(f"<<{search.ident} needs a <<REPLACE block directly after it, but {found}. Write:\n{_EXAMPLE}")
    _check_open(replace)
    return Operation("edit", replace.content, search.content)


def _check_open(block: _Block) -> None:
    """Raise `_Broken` for a block without a closer: it may be cut off, and the rest would be lost."""
    if block.closed:
        return
    ident = block.ident
    inner = _INNER.search(block.content)
    before = f" before <<{inner[1]}" if inner else ""
    raise _Broken(
        f"<<{ident} has no closing {ident}{before}. Nothing was changed. "
        f"End each block with its own word alone on a line:\n<<{ident}\ntext\n{ident}"
    )
