"""Random texts and random changes of them, each made by a seed alone.

A line is its text and its ending. Texts have blank lines, lines of blanks alone, nested indentation by blanks or tabs,
repeated blocks, CR LF and mixed ends, no last line feed, a byte order mark, accents in both normal forms, long lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from random import Random
from typing import NamedTuple

UNITS = ("    ", "  ", "\t")
WORDS = (
    *("x = 1", "y = 2", "return x", "go()", "if x:", "}", "else:", "end", "def f():", "call(a, b)", "- item", "a: b"),
    *("caf\u00e9", "cafe\u0301", "say \u201chi\u201d", "a  =  1", "s/a/b/", "# title", "x\ty"),
)
HOSTILE = (
    *(
        "SEARCH",
        "REPLACE",
        "<<SEARCH",
        "=======",
        ">>>>>>> REPLACE",
        "<<<<<<< SEARCH",
        "*** End Patch",
        "@@",
        "@@ -1 +1 @@",
    ),
    *(
        "--- a/f",
        "+++ b/f",
        "-- ",
        "*** Update File: f",
        "*** End of File",
        "\\ No newline at end of file",
        "```",
        "EOF",
    ),
    *("+ y", "- x", "2:ff9|a", "-------", ":start_line:1", "diff --git a/f b/f", "*** Add File: g", "DELETE"),
)


class Line(NamedTuple):
    """A line of a text and what ends it: LF, CR LF or, of the last, nothing."""

    row: str
    end: str


class Group(NamedTuple):
    """Neighbouring changes with the lines around them; `first` is the index of its first line in the old text."""

    first: int
    start: int
    pieces: list[tuple[str, Line]]

    @property
    def old(self) -> list[Line]:
        return [line for sign, line in self.pieces if sign != "+"]

    @property
    def new(self) -> list[Line]:
        return [line for sign, line in self.pieces if sign != "-"]

    @property
    def added(self) -> list[Line]:
        return [line for sign, line in self.pieces if sign == "+"]


@dataclass
class Change:
    """A text before and after; `mark` stands before both."""

    mark: str
    before: list[Line]
    after: list[Line]
    unit: str
    ends: str
    hostile: bool
    groups: list[Group] = field(default_factory=list)

    @property
    def old(self) -> str:
        return self.mark + "".join(line.row + line.end for line in self.before)

    @property
    def new(self) -> str:
        return self.mark + "".join(line.row + line.end for line in self.after)


def change_of(random: Random, context: int) -> Change:
    """A random text, a random change of it, and its groups with so many lines around each."""
    maker = _Maker(random)
    before = maker.text()
    after = maker.changed(before)
    mark = "\ufeff" if random.random() < 0.05 else ""
    change = Change(mark, before, after, maker.unit, maker.ends, maker.hostile)
    change.groups = groups_of(before, after, context)
    return change


def groups_of(before: list[Line], after: list[Line], context: int) -> list[Group]:
    """The groups of changes between two texts."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    found = []
    for codes in matcher.get_grouped_opcodes(context):
        pieces: list[tuple[str, Line]] = []
        for tag, first, last, begin, end in codes:
            if tag == "equal":
                pieces += [(" ", line) for line in before[first:last]]
            else:
                pieces += [("-", line) for line in before[first:last]] + [("+", line) for line in after[begin:end]]
        if any(sign != " " for sign, _ in pieces):
            found.append(Group(codes[0][1], codes[0][3], pieces))
    return found


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.unit = random.choice(UNITS)
        self.ends = random.choice(("\n", "\n", "\r\n", "\r\n", "mixed"))
        self.words = random.sample(WORDS, random.choice((3, 8, len(WORDS))))
        self.hostile = random.random() < 0.15
        self.ragged = random.random() < 0.2
        self.blanks = random.choice((0.1, 0.1, 0.4))
        self.number = 0

    def end(self) -> str:
        return self.random.choice(("\n", "\r\n")) if self.ends == "mixed" else self.ends

    def row(self, depth: int) -> str:
        random = self.random
        if random.random() < self.blanks:
            return random.choice(("", "", "", self.unit * depth, "  ")) if self.ragged else ""
        if self.hostile and random.random() < 0.3:
            return random.choice(HOSTILE)
        word = random.choice(self.words)
        if random.random() < 0.5:
            self.number += 1
            word = f"{word} {self.number}"
        if random.random() < 0.001:
            word += "z" * random.choice((10_000, 1_000_000))
        return self.unit * depth + word + (random.choice(("", "  ", "\t")) if self.ragged else "")

    def block(self, count: int, depth: int) -> list[Line]:
        lines = []
        for _ in range(count):
            lines.append(Line(self.row(depth), self.end()))
            depth = max(0, min(4, depth + self.random.choice((-1, 0, 0, 0, 1))))
        return lines

    def text(self) -> list[Line]:
        random = self.random
        lines = self.block(random.randint(1, 18), random.randint(0, 2))
        if random.random() < 0.3:
            first = random.randrange(len(lines))
            lines += lines[first : first + random.randint(1, 5)]
        return self.closed(lines, random.random() < 0.2)

    @staticmethod
    def closed(lines: list[Line], bare: bool) -> list[Line]:
        """`lines`, the last without an ending where it is to be `bare` and is not empty."""
        return [*lines[:-1], Line(lines[-1].row, "")] if bare and lines and lines[-1].row else lines

    def changed(self, before: list[Line]) -> list[Line]:
        random = self.random
        lines = list(before)
        while lines == before:
            for _ in range(random.choice((1, 1, 1, 2, 3))):
                self.change(lines)
            lines = self.finished(lines, before)
        return lines

    def change(self, lines: list[Line]) -> None:
        random = self.random
        at = random.randint(0, len(lines))
        taken = random.choice((0, 1, 1, 1, 2, 3))
        depth = _depth(lines[min(at, len(lines) - 1)].row, self.unit) if lines else 0
        new = self.block(random.choice((0, 1, 1, 2, 3)), max(0, depth + random.choice((-1, 0, 0, 1))))
        if new and self.ends == "mixed" and taken and at < len(lines) and random.random() < 0.7:
            new = [Line(line.row, lines[at].end or line.end) for line in new]
        lines[at : at + taken] = new

    def finished(self, lines: list[Line], before: list[Line]) -> list[Line]:
        """`lines` with the end of the text as notations keep it.

        A line that was the last without an ending gets that of its new neighbour; new last lines have none in place of it.
        """
        if not before or before[-1].end or not lines:
            return lines
        for at, line in enumerate(lines[:-1]):
            if line.end == "":
                lines[at] = Line(line.row, lines[at + 1].end or "\n" * (self.ends != "\r\n") or "\r\n")
        return self.closed(lines, not any(lines[-1] is line for line in before))


def _depth(row: str, unit: str) -> int:
    return (len(row) - len(row.lstrip())) // len(unit)
