"""Applies blocks to the lines of a text: each is placed, fitted in, and made with the others or not at all.

spec: @edit_places
"""

from __future__ import annotations

from itertools import pairwise

from engine.functions.limits import Work

from .fitting import Block, Fit, Hand
from .lines import MARK, Lines, Mismatch, Run
from .lookalikes import elided
from .patch_notation import Change, Hunk
from .placing import EXACT, Found, Places, Wanted

ADJUSTED = "indentation of the replacement was adjusted to the text"


def apply_hunks(text: str, change: Change, warnings: list[str]) -> str:
    """`text` with the hunks of `change` applied; appends to `warnings`. Raises `Mismatch`, `Exceeded`."""
    several = len(change.hunks) > 1
    blocks = [
        _block(hunk, f"hunk {number} of {change.path}" if several else f"the hunk of {change.path}")
        for number, hunk in enumerate(change.hunks, 1)
    ]
    lines = Lines.of(text)
    if text == MARK and any(block.old for block in blocks):
        lines = Lines("", [MARK], [""], [False])  # a line for a diff, though nothing else is on it
    return apply_blocks(lines, blocks, change.path, warnings).text()


def apply_blocks(lines: Lines, blocks: list[Block], name: str, warnings: list[str], hand: Hand | None = None) -> Lines:
    """`lines` with all `blocks` applied, each placed in the lines as they are. Raises `Mismatch`, `Exceeded`.

    `hand` tells how their author writes, where they are not all that he wrote.
    """
    hand = hand or Hand.of(line[1:] for block in blocks for line in block.signed)
    return _Application(lines, name, warnings, hand).result(blocks)


def search_block(name: str, old: list[str], new: list[str]) -> Block:
    """The block that replaces the lines `old` by `new`: lines that both begin or end with stay."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    signed = _signed(old, new, first, min(last, most - first))
    other = _signed(old, new, min(first, most - last), last)
    return Block(name, signed, search=True, other=() if other == signed else tuple(other))


def _signed(old: list[str], new: list[str], first: int, last: int) -> list[str]:
    """`old` and `new` with signs, where so many of the first and last lines stay."""
    signs = [f" {line}" for line in old[:first]]
    signs += [f"-{line}" for line in old[first : len(old) - last]] + [
        f"+{line}" for line in new[first : len(new) - last]
    ]
    return signs + [f" {line}" for line in old[len(old) - last :]]


def _block(hunk: Hunk, name: str) -> Block:
    """The block of a hunk. Raises `Mismatch` where it says without a line feed of a line that cannot be the last."""
    signed: list[str] = []
    ended: bool | None = None
    for line, following in pairwise([*hunk.lines, ""]):
        if line.startswith("\\"):
            continue
        bare = following.startswith("\\")
        if bare and line[:1] in ("+", "-"):
            ended = line[0] == "-"
        # without a line feed behind it CR is a letter, not an ending
        signed.append(f"{line}\r" if bare and line[0] == "+" and line.endswith("\r") else line)
    return Block(name, signed, tuple(hunk.at), hunk.line, hunk.end, ended=ended)


class _Application:
    """Applies blocks to one text. Every one is searched for in the text before the change."""

    def __init__(self, lines: Lines, name: str, warnings: list[str], hand: Hand) -> None:
        self.lines = lines
        self.hand = hand
        self.name = name
        self.warnings = warnings
        self.places = Places(lines)
        self.work = Work()
        self.marked = False
        """Whether the blocks say themselves what becomes of the byte order mark."""
        self.loose: list[Run] = []
        """The runs whose place no line of the text tells."""

    def result(self, blocks: list[Block]) -> Lines:
        """The new lines. Raises `Mismatch`."""
        runs = sorted((run for block in blocks for run in self._runs(block)), key=lambda run: (run.start, run.end))
        self._check(runs)
        if self.marked:
            self.lines = Lines(
                "", [self.lines.mark + self.lines.rows[0], *self.lines.rows[1:]], self.lines.ends, self.lines.fresh
            )
        ended = next((block.ended for block in blocks if block.ended is not None), None)
        return self.lines.replaced(runs, ended)

    def _check(self, runs: list[Run]) -> None:
        """Raise `Mismatch` for runs that take the same lines, or add lines at the same place."""
        for one, other in pairwise(runs):
            if other.start < one.end:
                raise Mismatch(f"{self.name}: two hunks change line {other.start + 1}. Nothing was changed.")
            if other.end == one.start and one not in self.loose and other not in self.loose:
                raise Mismatch(f"{self.name}: two hunks add lines below line {one.start}. Nothing was changed.")

    def _runs(self, block: Block) -> list[Run]:
        self.work.check()
        block = self._coded(block)
        self._check_elided(block)
        wanted = Wanted(block.name, block.old, list(block.headings), block.number, block.at_end, plain=not block.search)
        if not wanted.lines:
            return [self._insertion(block, wanted)]
        found = self.places.place(wanted)
        verbatim = self.places.named(wanted) is not None
        if block.search and found.way == EXACT:
            self._check_fresh(block, wanted, found)
        self.marked = self.marked or (
            found.start == 0 and bool(self.lines.mark) and block.old[0].startswith(self.lines.mark)
        )
        fit = Fit(self.lines, block, found, verbatim, self.hand)
        runs = fit.runs()
        if fit.adjusted and ADJUSTED not in self.warnings:
            self.warnings.append(ADJUSTED)
        self._check_ended(block, runs)
        return runs

    def _check_elided(self, block: Block) -> None:
        """Raise `Mismatch` for a new line that stands for lines which the author did not write."""
        line = elided(block.new)
        if line is not None and line not in "\n".join(self.lines.rows):
            raise Mismatch(
                f"{block.name}: the new line {line[:80]!r} stands for lines that are not written. Nothing was changed. "
                "Write these lines, or leave them out of the block: lines outside of it stay. If you mean this line as it "
                "is, write the whole text with <<NEW."
            )

    def _coded(self, block: Block) -> Block:
        """A block all of whose lines end in CR tells nothing of the ends of a text that has none, and no CR as a letter."""
        letter = any(row.endswith("\r") for row in self.lines.rows[-1:])
        has_none = "\r\n" not in self.lines.kinds() and not letter
        if block.old and has_none and all(line.endswith("\r") for line in block.signed):
            return block._replace(signed=[line[:-1] for line in block.signed])
        return block

    def _check_fresh(self, block: Block, wanted: Wanted, found: Found) -> None:
        """Raise `Mismatch` where another edit wrote what was found, and the text before has nearly the same lines."""
        if any(self.lines.fresh[found.start : found.start + len(wanted.lines)]):
            others = self.places.others(wanted, found)
            if others:
                raise Mismatch(
                    f"{block.name} stands at line {found.start + 1}, where another edit of this set wrote it, and with "
                    f"other white space at line {others[0] + 1}. Nothing was changed. Add neighbouring lines."
                )

    def _insertion(self, block: Block, wanted: Wanted) -> Run:
        """The run of a block of new lines alone: below its heading, at its line number or at the end. Raises `Mismatch`."""
        if block.at_end or not self.lines.rows:
            at = len(self.lines.rows)
        elif block.headings:
            at = self.places.below(wanted)
        elif block.number is not None:
            at = min(block.number, len(self.lines.rows))
        else:
            raise Mismatch(
                f"{block.name} has only new lines, so it has no place. Nothing was changed. Add a line above or below them "
                "that stays, with a blank before it. To add at the end of the file, use <<APPEND."
            )
        fit = Fit(self.lines, block, Found(at, EXACT), False, self.hand)
        run = fit.runs()[0]
        self.loose.append(run)
        self._check_ended(block, [run])
        return run

    def _check_ended(self, block: Block, runs: list[Run]) -> None:
        """Raise `Mismatch` where a line is said to end without a line feed that would not be the last."""
        if block.ended is False and not (runs and runs[-1].end == len(self.lines.rows) and runs[-1].rows):
            raise Mismatch(
                f"{block.name} says '\\ No newline at end of file' of a line that is not the last. Nothing was changed."
            )
