"""The two notations of a patch, read into changes of files: apply_patch blocks, as Codex writes them, and unified diffs.

An apply_patch block stands between `*** Begin Patch` and `*** End Patch` and finds its places by their text; a
unified diff finds them by line numbers too. What is wrong with a patch is told in a sentence for its writer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File:[ \t]*(.*\S)[ \t]*")
_MOVE = re.compile(r"\*\*\* Move to:[ \t]*(.*\S)[ \t]*")
_END_OF_FILE = "*** End of File"
_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OLD_FILE = re.compile(r"--- ([^\t\r\n]+)")
_NEW_FILE = re.compile(r"\+\+\+ ([^\t\r\n]+)")
_RENAME = re.compile(r"rename (from|to) ([^\r\n]+)")
_NOWHERE = "/dev/null"
_SHAPE = (
    "*** Begin Patch\n*** Update File: path\n@@ a line above\n unchanged\n-old\n+new\n"
    "*** Add File: path\n+text\n*** Delete File: path\n*** End Patch"
)


@dataclass(slots=True)
class Hunk:
    """Neighbouring changes: `lines` with their sign ` `, `-`, `+` or `\\` in front.

    `at` are texts of lines that stand above, `line` is the 1-based line that a diff names, `end`: at the end of the file.
    """

    at: list[str] = field(default_factory=list)
    line: int | None = None
    end: bool = False
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Change:
    """What becomes of one file: action add, update or delete; `to` is where it goes."""

    action: str
    path: str
    to: str | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def as_row(self) -> dict[str, Any]:
        """The change as a JSON object."""
        hunks = [{"at": hunk.at, "line": hunk.line, "end": hunk.end, "lines": hunk.lines} for hunk in self.hunks]
        return {"action": self.action, "path": self.path, "to": self.to, "hunks": hunks}


class BadPatch(Exception):  # noqa: N818 - an outcome, not a defect
    """The patch cannot be read; the message is for its writer."""


def patch_form(text: str) -> str | None:
    """'codex' or 'unified' by how `text` begins, None for any other text."""
    head = text.lstrip("\ufeff \t\r\n")[:4096]
    if head.startswith(_BEGIN):
        return "codex"
    if head.startswith("diff --git "):
        return "unified"
    first, _, rest = head.partition("\n")
    return "unified" if _OLD_FILE.match(first) and _NEW_FILE.match(rest) else None


def parse_codex(text: str) -> list[Change]:
    """The changes of an apply_patch block. Raises `BadPatch`."""
    lines = [line.removesuffix("\r") for line in text.strip("\ufeff \t\r\n").split("\n")][1:]
    changes: list[Change] = []
    for number, line in enumerate(lines, 2):
        if line.startswith(_END):
            if any(rest.strip() for rest in lines[number - 1 :]):
                raise BadPatch(f"text follows {_END!r} in line {number}: leave it out, or put it into the patch")
            break
        if section := _SECTION.fullmatch(line):
            changes.append(Change(section[1].lower(), section[2]))
        elif not changes:
            if line.strip():
                raise BadPatch(f"line {number} of the patch, {line[:80]!r}, belongs to no file. Write:\n{_SHAPE}")
        else:
            _take_line(changes[-1], line, number)
    return _checked(changes)


def _take_line(change: Change, line: str, number: int) -> None:
    """Put one line of an apply_patch block where it belongs."""
    if change.action == "delete":
        if line.strip():
            raise BadPatch(
                f"line {number} of the patch: nothing may follow '*** Delete File: {change.path}' but a file"
            )
    elif change.action == "add":
        _take_added(change, line, number)
    elif (move := _MOVE.fullmatch(line)) and not change.hunks:
        change.to = move[1]
    elif line.startswith(_END_OF_FILE):
        _open_hunk(change).end = True
    elif line.startswith("@@"):
        _begin_hunk(change, line)
    elif line.startswith("***"):
        raise BadPatch(f"line {number} of the patch, {line[:80]!r}, is not known. Write:\n{_SHAPE}")
    else:
        # A line without a sign is one that should stay as it is: it must be found, so nothing can go wrong.
        _open_hunk(change).lines.append(line if line[:1] in ("+", "-", " ") else f" {line}")


def _take_added(change: Change, line: str, number: int) -> None:
    if line.strip() and not line.startswith("+"):
        raise BadPatch(
            f"line {number} of the patch, {line[:80]!r}: each line of '*** Add File: {change.path}' begins with '+'"
        )
    _open_hunk(change).lines.append(line if line.startswith("+") else "+")


def _open_hunk(change: Change) -> Hunk:
    if not change.hunks:
        change.hunks.append(Hunk())
    return change.hunks[-1]


def _begin_hunk(change: Change, line: str) -> None:
    """A line `@@`: it begins a hunk, or narrows the one that has no lines yet."""
    if not change.hunks or change.hunks[-1].lines:
        change.hunks.append(Hunk())
    numbers = _RANGE.match(line)
    above = line[numbers.end() if numbers else 2 :].strip()
    if above and not numbers:
        change.hunks[-1].at.append(above)


def _checked(changes: list[Change]) -> list[Change]:
    """`changes` with the hunks of one file together. Raises `BadPatch` for what has no meaning."""
    found: dict[str, Change] = {}
    for change in changes:
        _drop_blank_end(change)
        earlier = found.setdefault(change.path, change)
        if earlier is not change:
            if (earlier.action, change.action, change.to) != ("update", "update", None):
                raise BadPatch(f"the patch names {change.path!r} twice: say once what becomes of it")
            earlier.hunks += change.hunks
        elif change.action == "update" and not change.hunks and change.to is None:
            raise BadPatch(f"'*** Update File: {change.path}' has no lines. Write:\n{_SHAPE}")
    if not found:
        raise BadPatch(f"the patch names no file. Write:\n{_SHAPE}")
    return list(found.values())


def _drop_blank_end(change: Change) -> None:
    """Blank lines before the next header are layout, not lines of the file."""
    sign = "+" if change.action == "add" else " "
    for hunk in change.hunks:
        while len(hunk.lines) > 1 and hunk.lines[-1] == sign:
            hunk.lines.pop()
    change.hunks = [hunk for hunk in change.hunks if hunk.lines]


def parse_unified(text: str) -> list[Change]:
    """The changes of a unified diff, with or without the headers of git. Raises `BadPatch`."""
    reader = _UnifiedReader(text)
    reader.read()
    if not reader.changes:
        raise BadPatch("the diff names no file: write '--- a/path', '+++ b/path' and hunks")
    return reader.changes


class _UnifiedReader:
    """Reads a unified diff line by line; `\\r` before a line feed belongs to the line."""

    def __init__(self, text: str) -> None:
        self.lines = text.lstrip("\ufeff \t\r\n").split("\n")
        self.at = 0
        self.changes: list[Change] = []

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self._is_header():
                self._header(line, self.lines[self.at + 1])
                self.at += 2
            elif renamed := _RENAME.match(line):
                self._rename(renamed[1], renamed[2])
            elif found := _RANGE.match(line):
                self._hunk(found)
            else:
                self.at += 1  # diff --git, index, modes, and blank lines between files

    def _is_header(self) -> bool:
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return bool(_OLD_FILE.match(self.lines[self.at]) and _NEW_FILE.match(following))

    def _header(self, old_line: str, new_line: str) -> None:
        old, new = (_named(line[4:]) for line in (old_line, new_line))
        if old is None and new is None:
            raise BadPatch(f"the diff is between {_NOWHERE} and {_NOWHERE}: name a file")
        if old is None or new is None:
            self.changes.append(Change("add" if old is None else "delete", new or old or ""))
        elif not (self.changes and (self.changes[-1].path, self.changes[-1].to) == (old, new)):
            self.changes.append(Change("update", old, None if new == old else new))

    def _rename(self, side: str, path: str) -> None:
        self.at += 1
        if side == "from":
            self.changes.append(Change("update", path))
        elif self.changes:
            self.changes[-1].to = path

    def _hunk(self, found: re.Match[str]) -> None:
        """One hunk: as many lines as it counts, and those behind them that look like more of it."""
        if not self.changes:
            raise BadPatch("the diff has a hunk before it names a file: write '--- a/path' and '+++ b/path' first")
        hunk = Hunk(line=int(found[1]))
        old, new = int(found[2] or 1), int(found[4] or 1)
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            counted = old > 0 or new > 0
            if _RANGE.match(line) or line.startswith("diff --git ") or (not counted and self._is_header()):
                break
            if not counted and line[:1] not in ("+", "-", " ", "\\"):
                break
            hunk.lines.append(line if line[:1] in ("+", "-", " ", "\\") else f" {line}")
            old -= line[:1] not in ("+", "\\")
            new -= line[:1] not in ("-", "\\")
            self.at += 1
        # Counts that promise too much take the empty end of the text for a line.
        if self.at == len(self.lines) and hunk.lines[-1:] == [" "] and self.lines[-1] == "":
            hunk.lines.pop()
        self.changes[-1].hunks.append(hunk)


def _named(side: str) -> str | None:
    """The path of a header line, None for /dev/null."""
    path = side.partition("\t")[0].strip()
    if path == _NOWHERE:
        return None
    return path[2:] if path.startswith(("a/", "b/")) else path
