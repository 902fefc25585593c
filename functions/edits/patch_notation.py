"""Patches: which notation a text is in, and how an apply_patch block, as Codex writes it, is read into changes of files.

A block stands between `*** Begin Patch` and `*** End Patch`; its places are found by their text. An error says what the
model has to correct. `diffs` reads unified diffs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.functions.lazy import lazy_regex

from .lines import without_transport
from .wrappings import BadPatch, head_inside

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_SECTION = lazy_regex(r"\*\*\* (Add|Update|Delete) File:[ \t]*(.*\S)[ \t]*")
_MOVE = lazy_regex(r"\*\*\* Move to:[ \t]*(.*\S)[ \t]*")
_END_OF_FILE = "*** End of File"
_RANGE = lazy_regex(r"-(\d{1,9})(?:,(\d{1,9}))?(?:[ \t]+\+(\d{1,9})(?:,(\d{1,9}))?)?[ \t]*(?=@@|$)")
_DIFF = lazy_regex(
    r"diff --git |From [0-9a-f]{40} |(?:Index: [^\n]+\n(?:=+\s*\n)?|diff [^\n]+\n)?--- [^\t\r\n]+[^\n]*\n\+\+\+ [^\t\r\n]"
    r"|(?:---|\+\+\+) [^\n]+\n@@ -\d"
)
_BLOCK_INSIDE = lazy_regex(r"(?m)^\*\*\* Begin Patch[ \t\r]*\n\*\*\* (?:Add|Update|Delete) File: ")
_DIFF_INSIDE = lazy_regex(r"(?m)^--- [^\n]+\n\+\+\+ [^\n]+\n@@")
_SHAPE = (
    "*** Begin Patch\n*** Update File: path\n@@ a line above\n unchanged\n-old\n+new\n"
    "*** Add File: path\n+text\n*** Delete File: path\n*** End Patch"
)


class HunkHead(NamedTuple):
    """The content of a line `@@`: the 1-based line, the counts of old and new lines, the text of a line above."""

    line: int | None
    counts: tuple[int, int] | None
    above: str


@dataclass(slots=True)
class Hunk:
    """Neighbouring changes: `lines` with their sign ` `, `-`, `+` or `\\` in front.

    `at` holds texts of lines above, `line` is the 1-based line number in a diff, `end` is true at the end of the file.
    """

    at: list[str] = field(default_factory=list)
    line: int | None = None
    end: bool = False
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Change:
    """The change of one file: action add, update or delete; `to` is its new path."""

    action: str
    path: str
    to: str | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def as_row(self) -> dict[str, Any]:
        """The change as a JSON object."""
        hunks = [{"at": hunk.at, "line": hunk.line, "end": hunk.end, "lines": hunk.lines} for hunk in self.hunks]
        return {"action": self.action, "path": self.path, "to": self.to, "hunks": hunks}


def patch_form(text: str) -> str | None:
    """'codex' or 'unified' by how `text` begins inside fences and here documents; None for any other text."""
    head = head_inside(text)
    if head.startswith(_BEGIN) or _SECTION.match(head):
        return "codex"
    return "unified" if _DIFF.match(head) else None


def embedded_patch(text: str) -> tuple[str, str] | None:
    """The form and text of a patch behind other text; None without a patch, or when an edit marker stands before it."""
    if f"\n{_BEGIN}" in text and (found := _BLOCK_INSIDE.search(text)):
        end = text.rfind(_END)
        inside = "codex", text[found.start() : end + len(_END) if end > found.start() else len(text)]
    elif "\n+++ " in text and (found := _DIFF_INSIDE.search(text)):
        above = text[: found.start()].rpartition("\n")[0].rpartition("\n")[2]
        end = text.find(f"\n{above[:3]}", found.end()) if above.startswith(("```", "~~~")) else -1
        inside = "unified", text[found.start() : end] if end > 0 else text[found.start() :]
    else:
        return None
    return None if "<<" in text[: found.start()] else inside


def parse_codex(text: str) -> list[Change]:
    """The changes of an apply_patch block. Raises `BadPatch`."""
    lines = without_transport(text.strip("\ufeff \t\r\n") + "\r\n" * ("\r\n" in text)).removesuffix("\n").split("\n")
    changes: list[Change] = []
    ended = False
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare == _BEGIN and (ended or number == 1):
            ended = False
        elif ended:
            if bare:
                raise BadPatch(f"text follows {_END!r} in line {number}: leave it out, or put it into the patch")
        elif bare == _END and (number == len(lines) or not _in_hunk(line, changes)):
            ended = True
        elif section := _SECTION.fullmatch(line if _in_hunk(line, changes) else bare):
            changes.append(Change(section[1].lower(), section[2]))
        elif changes:
            _take_line(changes[-1], line, number)
        elif bare:
            raise BadPatch(f"line {number} of the patch, {line[:80]!r}, belongs to no file. Write:\n{_SHAPE}")
    checked = _checked(changes)
    if not ended:
        raise BadPatch(f"the patch has no end: write {_END!r} as its last line, behind all that belongs to it")
    return checked


def _in_hunk(line: str, changes: list[Change]) -> bool:
    """Whether `line` may be an unchanged line, which begins with a blank as its sign."""
    change = changes[-1] if changes and line[:1] == " " else None
    return change is not None and change.action == "update" and (bool(change.hunks) or change.to is None)


def _take_line(change: Change, line: str, number: int) -> None:
    """Put one line of an apply_patch block where it belongs."""
    if change.action == "delete":
        if line.strip():
            raise BadPatch(
                f"line {number} of the patch: nothing may follow '*** Delete File: {change.path}' but a file"
            )
    elif change.action == "add":
        _take_added(change, line, number)
    elif not change.hunks and (move := _MOVE.fullmatch(line.strip())):
        change.to = move[1]
    elif line.startswith(_END_OF_FILE):
        _open_hunk(change).end = True
    elif line.startswith("@@"):
        _begin_hunk(change, line)
    elif line.startswith("***"):
        raise BadPatch(f"line {number} of the patch, {line[:80]!r}, is not known. Write:\n{_SHAPE}")
    else:
        # Take a line without a sign for an unchanged one: if the file does not have it, the patch fails.
        _open_hunk(change).lines.append(line if line[:1] in ("+", "-", " ", "") else f" {line}")


def _take_added(change: Change, line: str, number: int) -> None:
    if line.strip() and not line.startswith("+"):
        raise BadPatch(
            f"line {number} of the patch, {line[:80]!r}: each line of '*** Add File: {change.path}' begins with '+'"
        )
    _open_hunk(change).lines.append(line if line.startswith("+") else "")


def _open_hunk(change: Change) -> Hunk:
    if not change.hunks:
        change.hunks.append(Hunk())
    return change.hunks[-1]


def _begin_hunk(change: Change, line: str) -> None:
    """A line `@@`: it begins a hunk, or adds an anchor to one without lines. Blank lines before it are layout."""
    if change.hunks and not any(line.strip() for line in change.hunks[-1].lines):
        change.hunks[-1].lines.clear()
    else:
        change.hunks.append(Hunk())
    if above := hunk_head(line).above:
        change.hunks[-1].at.append(above)


def hunk_head(line: str) -> HunkHead:
    """Read a line that begins with `@@`. Text behind line numbers comes from a diff tool and is ignored."""
    text = line[2:].strip()
    if found := _RANGE.match(text):
        counts = found[3] is not None and (int(found[2] or 1), int(found[4] or 1))
        return HunkHead(int(found[1]), counts or None, "")
    for noise in ("...", "…", "@@"):
        text = text.removeprefix(noise).strip()
    return HunkHead(None, None, text.removesuffix("@@").strip())


def _checked(changes: list[Change]) -> list[Change]:
    """`changes` with all hunks of a file in one change. Raises `BadPatch` for changes that contradict each other."""
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
    """Blank lines without a sign before the next header are layout; elsewhere they are blank lines of the text."""
    for hunk in change.hunks:
        while hunk.lines and not hunk.lines[-1].strip("\r"):
            hunk.lines.pop()
        sign = "+" if change.action == "add" else " "
        hunk.lines = [line if line.strip("\r") else sign + line for line in hunk.lines]
    change.hunks = [hunk for hunk in change.hunks if hunk.lines]
