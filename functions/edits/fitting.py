"""What the new lines of a block are in the text where the block was found.

Where it was found to the letter they are as written. Where it was found although white space differs, lines that stay are
the text's own and new ones get the indentation of the text; what is not certain is refused.

spec: @edit_places @edit_indentation
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .indents import Indents, indent_of
from .lines import Lines, Mismatch, Run
from .placing import EXACT, PLAIN, Found, bare_line, unsigned

_SIGNS = lazy_regex("[-'\"‐‑‒–—―−‘’‚‛“”„‟]")
_OPENING = (":", "{", "(", "[")
_GAP = lazy_regex(r"\S {2,}\S")


class Block(NamedTuple):
    """A change of neighbouring lines: each with its sign, a blank for one that stays, `-` for an old, `+` for a new one.

    `search` says that it was written as a text to search and one to write, so that the signs were worked out; `other`
    are other signs that would say the same. A line may end in CR. `ended` says whether a line feed ends the new text,
    None: as before.
    """

    name: str
    signed: list[str]
    headings: tuple[str, ...] = ()
    number: int | None = None
    at_end: bool = False
    search: bool = False
    other: tuple[str, ...] = ()
    ended: bool | None = None

    @property
    def old(self) -> list[str]:
        """The lines that are to be found."""
        return [line[1:] for line in self.signed if line[0] != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that are added."""
        return [line[1:] for line in self.signed if line[0] == "+"]


class Hand(NamedTuple):
    """How an author writes: whether any line of a body begins with a tab, and whether any begins with two blanks."""

    tabs: bool
    blanks: bool

    @classmethod
    def of(cls, lines: Iterable[str]) -> Hand:
        """What the written `lines` tell."""
        begun = {line[:1] if line[:1] == "\t" else line[:2] for line in lines}
        return cls("\t" in begun, "  " in begun)


class Fit:
    """Fits a block into the text at the place where it was found. Raises `Mismatch` where that is not certain."""

    def __init__(self, lines: Lines, block: Block, found: Found, verbatim: bool, hand: Hand) -> None:
        self.block = block
        self.lines = lines
        self.habits = lines.habits
        self.found = found
        self.verbatim = verbatim
        self.hand = hand
        old = block.old
        self.rows = lines.rows[found.start : found.start + len(old)]
        self.pairs = list(zip([line.removesuffix("\r") for line in old], self.rows, strict=True))
        self.coded = any(line.endswith("\r") for line in block.signed)
        self.seen = lines.kinds(found.start, found.start + len(old))
        telling = [(one, row) for one, row in self.pairs if one.strip() or (one and one != row)]
        self.indents = Indents([(indent_of(bare_mark(one)), indent_of(row)) for one, row in telling])

    def runs(self) -> list[Run]:
        """The runs of lines that change, without those that stay, which neighbouring blocks may share."""
        if self.found.way == PLAIN:
            self._check_plain()
        if self.block.search:
            self._check_first()
            self._check_kept()
        return list(self._runs())

    @property
    def adjusted(self) -> bool:
        """Whether new lines were written with another indentation than the text's."""
        return not self.indents.same and any(line.strip() for line in self.block.new)

    def _runs(self) -> Iterator[Run]:
        position, new, start = self.found.start, list[str](), self.found.start
        for line in (*self.block.signed, " "):
            if line[0] == "+":
                new.append(line[1:])
            elif line[0] == "-":
                position += 1
            else:
                if new or position > start:
                    yield self._run(start, position, new)
                position += 1
                start, new = position, []

    def _run(self, start: int, end: int, new: list[str]) -> Run:
        shared = self.lines.ending((start, end), self.seen)
        closed = bool(new) and new[-1].endswith("\r")
        behind = start == len(self.lines.rows) and self.lines.ends[-1:] == [""]
        if self.block.search and behind and new[0].endswith("\r"):
            raise Mismatch(
                f"{self.block.name}: the last line has no line feed in the text, and how it shall end is not certain. "
                "Nothing was changed. Use <<APPEND to add lines at the end."
            )
        return Run(start, end, [self._row(line) for line in new], [self._end(line, shared) for line in new], closed)

    def _end(self, line: str, shared: str | None) -> str | None:
        """What a new line ends in: as it is written, where the block has CR in it, else as its place."""
        if not self.coded:
            return None if self.block.search and len(self.seen) > 1 else shared
        return ("\r\n" if line.endswith("\r") else "\n") if self.found.way == EXACT else None

    def _row(self, line: str) -> str:
        line = line.removesuffix("\r")
        if self.verbatim:
            return line
        if self.indents.same:
            self._check_unit(line)
            if line.strip() and self.found.way != EXACT and not any(one.strip() for one, _ in self.pairs):
                raise self._uncertain(line)
            return line
        if not line.strip():
            return self._blank(line)
        indent = self.indents.of(indent_of(line))
        if indent is None or (self._is_for_tabs(line, indent) and self.habits.inner_tabs and _GAP.search(line)):
            raise self._uncertain(line)
        return indent + line.lstrip()

    @staticmethod
    def _is_for_tabs(line: str, indent: str) -> bool:
        return "\t" in indent and "\t" not in indent_of(line)

    def _blank(self, line: str) -> str:
        """A new line of white space in a block that is indented otherwise than the text."""
        seen = [(one, row) for one, row in self.pairs if not one.strip()]
        if line or any(one != row for one, row in seen) or (not seen and self.habits.blank_rows):
            raise self._uncertain(line)
        return ""

    def _check_first(self) -> None:
        """Refuse one line without its indentation whose new lines may have theirs, or may have left it out as well."""
        new = [line for line in self.block.new if line.strip()]
        if len(self.pairs) != 1 or self.indents.same or len(new) < 2 or indent_of(self.pairs[0][0]):
            return
        real = indent_of(self.rows[0])
        deeper = new[0].rstrip().endswith(_OPENING) and indent_of(new[1]) == real
        if not deeper and not indent_of(new[0]) and all(line.startswith(real) for line in new[1:]):
            raise self._uncertain(new[1])

    def _check_kept(self) -> None:
        """Refuse where it is not certain which lines stay, or whether their white space shall."""
        if self.block.other and self._made(self.block.signed) != self._made(self.block.other):
            raise Mismatch(f"{self.block.name}: which of the repeated lines stays is not certain. {self._advice()}")
        ragged = {one for one, row in self.pairs if _tail(one) != _tail(row)}
        written = (line[1:].removesuffix("\r") for line in self.block.signed if line[0] != "-")
        kept = next((line for line in written if line in ragged), None)
        if kept is not None:
            at = self.found.start + next(number for number, pair in enumerate(self.pairs) if pair[0] == kept)
            raise Mismatch(
                f"{self.block.name}: line {at + 1}, {self.lines.rows[at][:80]!r}, ends in other white space in the text, "
                "and stands in both blocks. Nothing was changed. Write it as it is, or leave it out of both blocks."
            )

    def _made(self, signed: Iterable[str]) -> list[tuple[str, str | None]]:
        """The lines, with their endings, that the place would have by such signs."""
        made: list[tuple[str, str | None]] = []
        at = self.found.start
        shared = self.lines.ending((at, at + len(self.pairs)), self.seen)
        for line in signed:
            if line[0] == "+":
                made.append((self._row(line[1:]), self._end(line[1:], shared)))
            elif line[0] == " ":
                made.append((self.lines.rows[at], self.lines.ends[at]))
            at += line[0] != "+"
        return made

    def _check_plain(self) -> None:
        """Refuse new lines with what was written otherwise than in the text: inner white space, typographic signs."""
        bare = ((bare_line(one), bare_line(row)) for one, row in self.pairs)
        pairs = [(one, row) for one, row in bare if one != row]
        spaced = any("\xa0" in one + row or unsigned(one) != unsigned(row) for one, row in pairs)
        signs = any(unsigned(one + row) != one + row for one, row in pairs)
        for line in self.block.new:
            if (spaced and len(line.split()) > 1) or (signs and _SIGNS.search(line)):
                raise self._uncertain(line)

    def _check_unit(self, line: str) -> None:
        """Refuse blanks in a text that is of tabs alone, and tabs in one of blanks, if the author writes no other."""
        indent = indent_of(line)
        if not indent or indent.strip(" \t"):
            return
        blanks = not len(indent) % 2 and "\t" not in indent
        habits, hand = self.habits, self.hand
        if blanks and habits.tabs and not (habits.blanks or hand.tabs) and (line.strip() or not habits.blank_rows):
            raise Mismatch(self._of_unit(line, "blanks", "tabs"))
        if not indent.strip("\t") and habits.blanks and not (habits.tabs or hand.blanks):
            raise Mismatch(self._of_unit(line, "tabs", "blanks"))

    def _of_unit(self, line: str, one: str, other: str) -> str:
        return (
            f"{self.block.name}: the new line {line.strip()[:80]!r} is indented by {one}, the text by {other} alone. "
            f"Nothing was changed. Indent it by {other}; if you mean {one}, write the whole text with <<NEW."
        )

    def _uncertain(self, line: str) -> Mismatch:
        return Mismatch(
            f"{self.block.name} fits line {self.found.start + 1} only with other white space, so the white space of "
            f"{line.strip()[:80]!r} is not certain. {self._advice()}"
        )

    def _advice(self) -> str:
        first = self.found.start
        shown = "\n".join(f"{first + at + 1}: {row[:200]}" for at, row in enumerate(self.rows[:5]))
        return f"Nothing was changed. Copy the lines with their white space:\n{shown}"


def bare_mark(line: str) -> str:
    """`line` without a byte order mark."""
    return line.removeprefix("\ufeff")


def _tail(line: str) -> str:
    return line[len(line.rstrip()) :]
