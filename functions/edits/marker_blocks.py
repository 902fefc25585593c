"""The blocks of edit markers in a body, `<<IDENT … IDENT`, found in linear time."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .mixed import other_edit, told

KEYWORDS = ("NEW", "PREPEND", "APPEND", "REPLACE", "DELETE", "SEARCH")
EXAMPLE = "<<SEARCH\nold lines\nSEARCH\n<<REPLACE\nnew lines\nREPLACE"
_OPENER = lazy_regex(r"<<([A-Z][A-Za-z0-9_]*)(?=\s|\Z)")
_CLOSER = lazy_regex(r"(?<!\S)[A-Z][A-Za-z0-9_]*(?=[\s<>]|\Z)")
_PARTNER = "<<REPLACE"
"""The index key for all openers that begin with REPLACE; no identifier has this form."""
_LINES_FOLLOW = lazy_regex(r"[ \t]*\r?\n")
_LINE_ENDS = lazy_regex(r"[ \t\r]*(?:\n|\Z)|<")


class Block(NamedTuple):
    """A block: its word, what stands between opener and closer, where it ends in the body, and whether it has its closer."""

    ident: str
    raw: str
    end: int
    closed: bool

    @property
    def keyword(self) -> str:
        """The keyword that its word begins with, '' without one."""
        return next((keyword for keyword in KEYWORDS if self.ident.startswith(keyword)), "")

    @property
    def words(self) -> str:
        """What stands behind the opener in its line."""
        return self.raw.partition("\n")[0].strip()

    @property
    def inline(self) -> bool:
        """Whether it begins and ends in one line."""
        return "\n" not in self.raw

    @property
    def lines(self) -> list[str]:
        """The lines of its content."""
        if self.inline:
            return [self.words] if self.words else []
        content = self.raw.partition("\n")[2]
        if not content.strip(" \t"):
            return []
        lines = content.split("\n")
        # what stands before a closer in its line is its indentation, or a line without the blank before the closer
        return lines[:-1] if not lines[-1].strip(" \t") else [*lines[:-1], lines[-1].rstrip(" \t")]

    @property
    def text(self) -> str:
        """Its content as a whole text."""
        return trim(self.raw)


class Broken(Exception):  # noqa: N818 - it never leaves this package
    """The markers cannot be read; the message tells the model what to correct."""


class Reader:
    """Reads the blocks of one body. It indexes the words, so that any text takes linear time."""

    def __init__(self, body: str) -> None:
        self.body = body
        self.blocks: list[Block] = []
        self.begins: list[int] = []
        self.words: set[str] = set()
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

    def read(self) -> list[Block]:
        """The blocks in order; only the last can lack its closer."""
        position = 0
        while opener := _OPENER.search(self.body, position):
            block = self._block(opener) if self._may_open(opener.start()) else None
            if block is not None:
                self._check_between(self.end, opener.start())
                self.blocks.append(block)
                self.begins.append(opener.start())
                self.words.add(block.ident)
            position = opener.end() if block is None else block.end
        self._check_between(self.end, len(self.body))
        self._check_other()
        return self.blocks

    def _check_other(self) -> None:
        """Raise `Broken` where the text outside of the blocks holds another edit."""
        begins = [0, *(block.end for block in self.blocks)]
        ends = [*self.begins, len(self.body)]
        outside = [self.body[begin:end] for begin, end in zip(begins, ends, strict=True)]
        line = next((line for text in outside if text.strip() and (line := other_edit(text))), None)
        if self.blocks and line is not None:
            raise Broken(f"Refused, for {told(line)}. Nothing was changed. Write:\n{EXAMPLE}")

    def _check_between(self, begin: int, end: int) -> None:
        """Raise `Broken` where the word of a block stands alone between blocks: the block ended before."""
        lines = self.body[begin:end].split("\n") if self.words else []
        left = next((word for line in lines if (word := line.strip()) in self.words), None)
        if left is not None:
            raise Broken(
                f"{left} stands alone once more behind its block, so it is not certain which ends the block. Nothing was "
                f"changed. Give the block a word that its text does not hold:\n<<{left}1\ntext\n{left}1"
            )

    def _may_open(self, start: int) -> bool:
        """An opener stands at the beginning, behind white space or `>`, or directly behind a closer."""
        return start == self.end or self.body[start - 1].isspace() or self.body[start - 1] == ">"

    def _block(self, opener: re.Match[str]) -> Block | None:
        """The block that begins here; None for a shift operator or a here document inside of plain text."""
        ident, begin = opener[1], opener.end()
        line = self.body[max(self.end, self.body.rfind("\n", 0, opener.start()) + 1) : opener.start()]
        leads_line = not line.strip() or line.endswith(">")
        first = not self.blocks and leads_line and not self.body[: opener.start()].strip()
        if (
            not ident.startswith(KEYWORDS)
            and not first
            and not ((self.blocks or ident.startswith("AFTER")) and leads_line)
        ):
            return None
        closer = self._closer(ident, begin)
        if closer is None:
            meant = leads_line and (first or ident.startswith(KEYWORDS))
            return Block(ident, self.body[begin:], len(self.body), closed=False) if meant else None
        return Block(ident, self.body[begin : closer[0]], closer[1], closed=True)

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


def trim(content: str) -> str:
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
