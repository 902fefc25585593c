"""Applies the hunks of a change to a text; each place is found by its text.

A place is searched for exactly, then without white space at line ends, then without white space around lines, then with
runs of white space and typographic characters made plain; the first search that finds anything decides. Several places
are a conflict, unless an anchor line or the line number of a diff selects one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from engine.functions.limits import Work

from .line_views import MARK, WAYS, LineView, plain_line
from .matching import ADJUSTED, Mismatch, ambiguous_lines, bare_lines, exchange_indent, indent_of, missing_lines
from .patch_notation import Change, Hunk


def apply_hunks(text: str, change: Change, warnings: list[str]) -> str:
    """`text` with the hunks of `change` applied; appends to `warnings`. Raises `Mismatch`, `Exceeded`."""
    return _Application(text, change, warnings).result()


@dataclass(slots=True)
class _Edit:
    """`lines[start:end]` become `new`; `found` is false if only an anchor or a line number gave the place."""

    start: int
    end: int
    new: list[str]
    found: bool = True


class _Application:
    """Applies one change to one text. Every hunk is searched for in the text before the change."""

    def __init__(self, text: str, change: Change, warnings: list[str]) -> None:
        self.text = text
        self.change = change
        self.warnings = warnings
        self.ending = "\r" if "\r\n" in text else ""
        self.lines = text.split("\n")
        self.ended = self.lines[-1] == ""
        if self.ended:
            self.lines.pop()
        self.mark = MARK if text.startswith(MARK) else ""
        self.views = [LineView(self.lines, way) for way in WAYS]
        self.cursor = 0
        self.work = Work()

    def result(self) -> str:
        """The new text. Raises `Mismatch`."""
        hunks = enumerate(self.change.hunks, 1)
        edits = sorted((edit for each in hunks for edit in self._edits(*each)), key=lambda edit: (edit.start, edit.end))
        for one, other in pairwise(edits):
            if other.start < one.end:
                raise Mismatch(f"{self.change.path}: two hunks change line {other.start + 1}. Nothing was changed.")
            if other.end == one.start and one.found and other.found:
                raise Mismatch(f"{self.change.path}: two hunks add lines below line {one.start}. Nothing was changed.")
        pieces: list[str] = []
        position = 0
        for edit in edits:
            pieces += self.lines[position : edit.start] + edit.new
            position = edit.end
        pieces += self.lines[position:]
        text = "\n".join(pieces) + ("\n" if pieces and self._ends() else "")
        return text if text.startswith(self.mark) else self.mark + text

    def _ends(self) -> bool:
        """Whether the new text ends in a line feed: as before, unless the diff says otherwise."""
        ended = self.ended or not self.text
        for hunk in self.change.hunks:
            for line, following in pairwise(hunk.lines):
                if following.startswith("\\"):
                    ended = line.startswith("-")
        return ended

    def _edits(self, number: int, hunk: Hunk) -> list[_Edit]:
        """The edit of a hunk without its unchanged lines at both ends, which neighbouring hunks may share."""
        self.work.check()
        name = (
            f"hunk {number} of {self.change.path}" if len(self.change.hunks) > 1 else f"the hunk of {self.change.path}"
        )
        begin = self._below(hunk.at, name)
        signed = [line for line in hunk.lines if not line.startswith("\\")]
        old = [line[1:] for line in signed if not line.startswith("+")]
        if not old:
            return [self._insertion(hunk, begin, signed)]
        start = self._named(hunk, old)
        verbatim = start is not None
        if start is None:
            start = self._place(hunk, old, begin, name)
        elif start == 0:
            self.mark = ""  # the diff says itself what becomes of it
        stays = next((index for index, line in enumerate(reversed(signed)) if line[0] != " "), 0)
        self.cursor = start + len(old) - stays
        return self._changed(signed, start, verbatim)

    def _named(self, hunk: Hunk, old: list[str]) -> int | None:
        """The line number that a diff gives, if the lines `old` stand there."""
        if hunk.line is None or self.lines[hunk.line - 1 : hunk.line - 1 + len(old)] != old:
            return None
        return hunk.line - 1

    def _insertion(self, hunk: Hunk, begin: int | None, signed: list[str]) -> _Edit:
        """Where new lines without old ones go: below their anchor, at their line number, else at the end."""
        at = len(self.lines) if begin is None else begin
        if begin is None and hunk.line is not None and not hunk.end:
            at = min(hunk.line, len(self.lines))
        verbatim = hunk.line is not None and not self.ending
        return _Edit(at, at, [line[1:] if verbatim else self._written(line[1:]) for line in signed], found=False)

    def _below(self, anchors: list[str], name: str) -> int | None:
        """The line below the last of `anchors`, each searched for below the one before; None without anchors."""
        position = None
        for anchor in anchors:
            begin = self.cursor if position is None else position
            for again in dict.fromkeys((begin, position or 0)):
                found = next((hits[0] for view in self.views if (hits := view.runs([anchor], again))), None)
                found = self._part(anchor, again) if found is None else found
                if found is not None:
                    break
            if found is None:
                raise Mismatch(
                    missing_lines(self.text, anchor, f"the line '@@ {anchor}' above {name}", bare_lines(self.text))
                )
            position = found + 1
        return position

    def _part(self, anchor: str, begin: int) -> int | None:
        """The first line from `begin` on that has `anchor` in it, which may lack the end of the line."""
        wanted = plain_line(anchor)
        lines = self.views[-1].lines
        return next((number for number in range(begin, len(lines)) if wanted in lines[number]), None)

    def _place(self, hunk: Hunk, old: list[str], below: int | None, name: str) -> int:
        """Where the lines `old` stand. Raises `Mismatch`."""
        begin = self.cursor if below is None else below
        for first in dict.fromkeys((begin, below or 0)):
            for view in self.views:
                if hunk.end and view.ends_with(old):
                    return len(self.lines) - len(old)
                hits = view.runs(old, first)
                if len(hits) > 1 and below is None:
                    told = ambiguous_lines(self.text, hits, name)
                    raise Mismatch(f"{told}\nOr name a line that stands above it: @@ def name():")
                if hits:
                    return hits[0]
        raise Mismatch(missing_lines(self.text, "\n".join(old), name, bare_lines(self.text)))

    def _changed(self, signed: list[str], start: int, verbatim: bool) -> list[_Edit]:
        """The changes of a hunk at `start`. Unchanged lines stay as in the text; new lines get its indentation."""
        written, real = self._indents(signed, start)
        edits: list[_Edit] = []
        position, stays = start, True
        for line in signed:
            if line.startswith(" "):
                position, stays = position + 1, True
                continue
            if stays:
                edits.append(_Edit(position, position, []))
                stays = False
            if line.startswith("+"):
                edits[-1].new.append(line[1:] if verbatim else self._written(line[1:], written, real))
            else:
                position = edits[-1].end = position + 1
        return edits

    def _indents(self, signed: list[str], start: int) -> tuple[str, str]:
        """The indentation of the first line with text in the hunk, and of that line in the text."""
        old = [line[1:] for line in signed if not line.startswith("+")]
        number = next((number for number, line in enumerate(old) if line.strip()), None)
        if number is None:
            return "", ""
        written, real = indent_of(old[number]), indent_of(self.lines[start + number].removeprefix(MARK))
        if written != real and any(line.startswith("+") for line in signed) and ADJUSTED not in self.warnings:
            self.warnings.append(ADJUSTED)
        return written, real

    def _written(self, line: str, written: str = "", real: str = "") -> str:
        """A new line with the indentation and the line ending of the text."""
        line = line.removesuffix("\r")
        if written != real and line.strip():
            line = exchange_indent(line, written, real)
        return line + self.ending
