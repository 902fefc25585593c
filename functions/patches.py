"""Patches: changes of one or more files in one body; each place is found by its text.

A place is searched for exactly, then without white space at line ends, then without white space around lines, then with
runs of white space and typographic characters made plain; the first search that finds anything decides. Several places
are a conflict, unless an anchor line or the line number of a diff selects one.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from engine.functions import Function
from engine.functions.compact import to_json
from engine.functions.diffs import parse_unified
from engine.functions.lazy import lazy_regex
from engine.functions.matching import (
    ADJUSTED,
    Mismatch,
    ambiguous_lines,
    bare_lines,
    exchange_indent,
    indent_of,
    missing_lines,
)
from engine.functions.patch_notation import Change, Hunk, embedded_patch, parse_codex, patch_form
from engine.functions.wrappings import BadPatch, unwrap, written_by_command

_PLAIN = str.maketrans("‐‑‒–—―−‘’‚‛“”„‟\xa0", "-------''''\"\"\"\" ")
_SPACES = lazy_regex(r"\s+")
_MARK = "\ufeff"


def _same(line: str) -> str:
    return line


def _bare(line: str) -> str:
    return line.removeprefix(_MARK).strip()


def _plain(line: str) -> str:
    return _SPACES.sub(" ", _bare(line).translate(_PLAIN)).strip()


_WAYS: tuple[Callable[[str], str], ...] = (_same, str.rstrip, _bare, _plain)
"""How lines are changed before they are compared, from the strictest way to the most tolerant."""
_SHOWN_CANDIDATES = 50


def patch_parse(text: str | None) -> str | None:
    """The changes in the patch `text` as JSON ``{"form", "files", "error"}``.

    `form` is codex or unified by how the text begins inside fences and here documents; embedded for a text with a patch
    in it, or a shell command that writes one; null for any other text. A file is ``{"action":
    "add|update|delete", "path", "to", "hunks": [{"at", "line", "end", "lines"}]}``; `error` tells the model what
    to correct: then there are no files.
    """
    if text is None:
        return None
    form = patch_form(text)
    files: list[Change] = []
    error = None
    try:
        if form is not None:
            files = _READERS[form](unwrap(text))
        elif inside := embedded_patch(text):
            form, notation, patch = "embedded", *inside
            files = _READERS[notation](patch)
        elif written_by_command(text):
            form = "embedded"
            raise BadPatch("the body is a shell command that writes a file: write only the text of the file")
    except BadPatch as problem:
        error = f"{problem}\nTo keep the body as a text, wrap it in <<NEW."
    return to_json({"form": form, "files": [change.as_row() for change in files], "error": error})


_READERS = {"codex": parse_codex, "unified": parse_unified}


def patch_apply(current: str | None, change: str | None) -> str | None:
    """What `change`, one of the files of `patch_parse`, makes of the text `current` (NULL: there is no file), as JSON.

    ``{"state": "resolved", "body", "changed", "warnings"}``, `body` being null for a file that is deleted; or
    ``{"state": "failed", "outcome": "conflict" | "not_found" | "validation", "message"}``: then nothing was changed.
    """
    if change is None:
        return None
    try:
        wanted = _change(json.loads(change))
    except (ValueError, TypeError, KeyError, AttributeError):
        return _failed("validation", "the change is not one that patch_parse gives")
    if wanted.action == "add":
        if current is not None:
            return _failed("conflict", f"{wanted.path} exists already: change it with '*** Update File: {wanted.path}'")
        return _resolved(None, _added(wanted), [])
    if current is None:
        return _failed("not_found", f"{wanted.path} not found: the patch can {wanted.action} only what is there")
    if wanted.action == "delete":
        return _resolved(current, None, [])
    warnings: list[str] = []
    try:
        body = apply_hunks(current, wanted, warnings)
    except Mismatch as mismatch:
        return _failed("conflict", str(mismatch))
    return _resolved(current, body, warnings)


def _change(row: Any) -> Change:
    hunks = [Hunk(list(each["at"]), each["line"], bool(each["end"]), list(each["lines"])) for each in row["hunks"]]
    if not all(isinstance(line, str) for hunk in hunks for line in (*hunk.lines, *hunk.at)):
        raise TypeError("a line is no text")
    return Change(str(row["action"]), str(row["path"]), row["to"], hunks)


def _failed(outcome: str, message: str) -> str:
    return to_json({"state": "failed", "outcome": outcome, "message": message})


def _resolved(before: str | None, body: str | None, warnings: list[str]) -> str:
    return to_json({"state": "resolved", "body": body, "changed": body != before, "warnings": warnings})


def _added(change: Change) -> str:
    """The text of a new file: it ends in a line feed unless the patch says that it does not."""
    lines = [line for hunk in change.hunks for line in hunk.lines]
    text = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
    bare = any(line.startswith("\\") for line in lines)
    return text if bare or not any(line[:1] in ("+", " ") for line in lines) else f"{text}\n"


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
        self.mark = _MARK if text.startswith(_MARK) else ""
        self.views = [_View(self.lines, way) for way in _WAYS]
        self.cursor = 0

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
        wanted = _plain(anchor)
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
        written, real = indent_of(old[number]), indent_of(self.lines[start + number].removeprefix(_MARK))
        if written != real and any(line.startswith("+") for line in signed) and ADJUSTED not in self.warnings:
            self.warnings.append(ADJUSTED)
        return written, real

    def _written(self, line: str, written: str = "", real: str = "") -> str:
        """A new line with the indentation and the line ending of the text."""
        line = line.removesuffix("\r")
        if written != real and line.strip():
            line = exchange_indent(line, written, real)
        return line + self.ending


class _View:
    """The lines of a text, prepared for one way of comparing. Tables are made once, at first use."""

    def __init__(self, lines: list[str], way: Callable[[str], str]) -> None:
        self._own = lines
        self._way = way

    @cached_property
    def lines(self) -> list[str]:
        return [self._way(line) for line in self._own]

    @cached_property
    def _whole(self) -> str:
        return "\n".join(["", *self.lines, ""])

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in the whole: at the line feed before it."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def runs(self, wanted: list[str], begin: int) -> list[int]:
        """The lines from `begin` on at which `wanted` stands; at most as many as a message shows."""
        part = "\n".join(["", *map(self._way, wanted), ""])
        found: list[int] = []
        start = self._whole.find(part, self._starts[min(begin, len(self.lines))])
        while start >= 0 and len(found) <= _SHOWN_CANDIDATES:
            found.append(bisect_left(self._starts, start))
            start = self._whole.find(part, start + 1)
        return found

    def ends_with(self, wanted: list[str]) -> bool:
        """Whether `wanted` are the last lines."""
        return self.lines[-len(wanted) :] == [self._way(line) for line in wanted]


def apply_hunks(text: str, change: Change, warnings: list[str]) -> str:
    """`text` with the hunks of `change` applied; appends to `warnings`. Raises `Mismatch`."""
    return _Application(text, change, warnings).result()


FUNCTIONS = (
    Function("patch_parse", 1, patch_parse),
    Function("patch_apply", 2, patch_apply),
)
