"""Unified diffs, of git or plain, as tools and as models write them, read into changes of files.

Correct line numbers and counts are used; a hunk without them is found by its text. A line that belongs to no hunk or
header is an error: a diff is applied whole or not at all.
"""

from __future__ import annotations

import re

from engine.functions.lazy import lazy_regex

from .lines import without_transport
from .patch_notation import Change, Hunk, hunk_head
from .wrappings import BadPatch

_OLD_FILE = lazy_regex(r"--- ([^\t\r\n]+)")
_NEW_FILE = lazy_regex(r"\+\+\+ ([^\t\r\n]+)")
_RENAME = lazy_regex(r"rename (from|to) ([^\r\n]+)")
_MAIL = lazy_regex(r"From [0-9a-f]{40} ")
_VERSION = lazy_regex(r"\d[\w.+-]*(?:[ (][^\n]*)?")
_STAMP = lazy_regex(r"[ ]+\d{4}-\d\d-\d\d[ T]\d\d:.*")
_BINARY = ("Binary files ", "GIT binary patch")
_HEADS = ("index ", "similarity ", "dissimilarity ", "====", "Only in ", "\\")
_SECTIONS = ("diff ", "Index: ")
_SIGNS = ("+", "-", " ", "\\")
_NOWHERE = "/dev/null"
_MOST_BLANK = 100
_OCTETS = lazy_regex(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def parse_unified(text: str) -> list[Change]:
    """The changes of a unified diff, with or without the headers of git. Raises `BadPatch`."""
    reader = _Reader(_with_last_end(without_transport(text)))
    reader.read()
    if not reader.changes:
        raise BadPatch("the diff names no file: write '--- a/path', '+++ b/path' and hunks")
    return reader.changes


def parse_hunks(text: str, name: str) -> Change | None:
    """The change in a body of nothing but hunks, which begins with `@@`; None for another text. Raises `BadPatch`."""
    text = _with_last_end(without_transport(text.lstrip("\ufeff \t\r\n")))
    if not (text.startswith(("@@ ", "@@\n", "@@\r\n")) and ("\n+" in text or "\n-" in text)):
        return None
    change = Change("update", name)
    reader = _Reader(text)
    reader.changes.append(change)
    reader.file, reader.mail = change, False
    reader.read()
    if len(reader.changes) > 1:
        raise BadPatch("the diff has a hunk before it names a file: write '--- a/path' and '+++ b/path' first")
    return change


def _with_last_end(text: str) -> str:
    """`text` with CR behind its last line, if that has lost its line feed and all lines of its hunk end in CR."""
    if "\r" not in text or text.endswith(("\n", "\r")):
        return text
    hunk = text[text.rfind("\n@@") + 1 :].split("\n")[1:-1]
    return f"{text}\r" if hunk and all(line.endswith("\r") for line in hunk) else text


class _Reader:
    """Reads a unified diff line by line; `\\r` before a line feed belongs to the line."""

    def __init__(self, text: str) -> None:
        self.lines = text.lstrip("\ufeff \t\r\n").split("\n")
        self.at = 0
        self.changes: list[Change] = []
        self.file: Change | None = None
        """The file that hunks belong to."""
        self.section: dict[str, str] = {}
        """What the headers of a section of git say, until a change of the section is found."""
        self.whole: set[int] = set()
        """The `id()` of each change that is complete without a hunk."""
        self.mail = True
        """Whether other lines are the text of a mail: before the first file, and behind a signature."""

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self._is_header():
                self._header(line, self.lines[self.at + 1])
                self.at += 2
            elif line.startswith("@@") or (self._awaits_hunk() and line[:1] in ("+", "-", " ") and line.strip()):
                self._hunk()
            else:
                self._other(line)
                self.at += 1
        self._end_section()
        for change in self.changes:
            if change.action != "delete" and not change.hunks and id(change) not in self.whole:
                raise BadPatch(
                    f"the diff names {change.path} but has no hunk for it: write '@@' and lines with '+' or '-'"
                )

    def _is_header(self) -> bool:
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return bool(_OLD_FILE.match(self.lines[self.at]) and _NEW_FILE.match(following))

    def _awaits_hunk(self) -> bool:
        return self.file is not None and not self.file.hunks and self.file.action != "delete"

    def _header(self, old_line: str, new_line: str) -> None:
        self.section = {}
        self.mail = False
        old, new = (_named(line[4:]) for line in (old_line, new_line))
        if old is None and new is None:
            raise BadPatch(f"the diff is between {_NOWHERE} and {_NOWHERE}: name a file")
        if old is None or new is None:
            self.changes.append(Change("add" if old is None else "delete", new or old or ""))
        elif not (self.changes and self._continues(self.changes[-1], old, new)):
            self.changes.append(Change("update", old, None if new == old else new))
        self.file = self.changes[-1]

    @staticmethod
    def _continues(change: Change, old: str, new: str) -> bool:
        """Whether a header repeats the file name of the change before it."""
        return change.action == "update" and (change.path, change.to or change.path) == (old, new)

    def _other(self, line: str) -> None:
        """A line outside of hunks and file headers."""
        if line.startswith(_SECTIONS) or _MAIL.match(line):
            self._end_section()
            self.file = None
            self.mail = self.mail or bool(_MAIL.match(line))
            if line.startswith("diff --git "):
                self.mail = False
                self.section = {"path": _path_of_both(line[len("diff --git ") :].rstrip())}
        elif renamed := _RENAME.match(line):
            self._rename(renamed[1], _unquoted(renamed[2].rstrip()))
        elif line.startswith(_BINARY):
            raise BadPatch(f"the diff changes a binary file ({line[:80]!r}): only texts can be patched")
        elif line.startswith(("copy from ", "copy to ")):
            raise BadPatch("the diff copies a file: copy it with cp and patch the copy")
        elif line.startswith(("new file mode", "deleted file mode", "old mode", "new mode")):
            if self.section:
                self.section[line.split(" ", 1)[0]] = line
        elif self._is_signature(self.at):
            self.mail = True
        elif line.strip() and not self.mail and not line.startswith(_HEADS):
            raise BadPatch(
                f"line {self.at + 1} of the diff, {line[:80]!r}, belongs to no hunk: "
                "each line of a hunk begins with '+', '-' or a blank. Nothing was changed."
            )

    def _rename(self, side: str, path: str) -> None:
        if side == "from":
            self.changes.append(Change("update", path))
            self.whole.add(id(self.changes[-1]))
            self.section = {}
        elif self.changes:
            self.changes[-1].to = path

    def _end_section(self) -> None:
        """Finish a section of git. Without hunks it creates or deletes an empty file; a change of mode alone is ignored."""
        section, self.section = self.section, {}
        if not section:
            return
        path = section["path"]
        if not path or not ("deleted" in section or ("new" in section and "old" not in section)):
            raise BadPatch(
                f"the diff names {path or 'a file'} but changes no line of it; modes of files are not changed here"
            )
        self.changes.append(Change("delete" if "deleted" in section else "add", path))
        self.whole.add(id(self.changes[-1]))

    def _is_signature(self, at: int) -> bool:
        """Whether the mail signature of git stands here: `-- ` and its version."""
        return (
            self.lines[at].rstrip() == "--"
            and at + 1 < len(self.lines)
            and _VERSION.fullmatch(self.lines[at + 1].rstrip()) is not None
            and not any(line.strip() for line in self.lines[at + 2 : at + 3])
        )

    def _hunk(self) -> None:
        """Read one hunk: as many lines as its head counts, and lines behind them that look like more of it."""
        if self.file is None:
            raise BadPatch("the diff has a hunk before it names a file: write '--- a/path' and '+++ b/path' first")
        hunk = Hunk()
        counts = None
        if self.lines[self.at].startswith("@@"):
            head = hunk_head(self.lines[self.at])
            counts, hunk.line = head.counts, head.line
            hunk.at += [head.above] if head.above else []
            self.at += 1
        begin = self.at
        old, new = counts or (0, 0)
        while self.at < len(self.lines):
            line = self.lines[self.at]
            counted = old > 0 or new > 0
            stands = line[:1] in _SIGNS or not counts or counted or self._goes_on()
            if self._ends_hunk(line, (old, new)) or not stands:
                break
            hunk.lines.append(line if line[:1] in _SIGNS else f" {line}")
            old -= line[:1] not in ("+", "\\")
            new -= line[:1] not in ("-", "\\")
            self.at += 1
        # Blank lines without a sign at the end of a hunk are layout.
        while hunk.lines and not self.lines[self.at - 1].strip() and self.lines[self.at - 1][:1] != " ":
            hunk.lines.pop()
            self.at -= 1
        if counts is None or counts[0]:
            _forget_number(hunk)
        self._check(hunk, begin)
        self.file.hunks.append(hunk)
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1

    def _ends_hunk(self, line: str, left: tuple[int, int]) -> bool:
        """Whether the hunk ends before `line`; `left` is how many old and new lines it still lacks by its counts."""
        if line.startswith(("@@", "diff --git ")) or self._is_signature(self.at):
            return True
        if left[0] <= 0 and left[1] <= 0:
            return self._is_header() or line.startswith(_SECTIONS)
        following = self.lines[self.at + 2 : self.at + 3]
        return left != (1, 1) and self._is_header() and following != [] and following[0].startswith("@@")

    def _goes_on(self) -> bool:
        """Whether only blank lines without a sign stand between here and more lines of a hunk, whose counts are wrong."""
        following = next((line for line in self.lines[self.at : self.at + _MOST_BLANK] if line.strip()), "")
        return not self.lines[self.at].strip() and following[:1] in ("+", "-", " ") and not following.startswith("---")

    def _check(self, hunk: Hunk, begin: int) -> None:
        """Raises `BadPatch` for an empty hunk, and for one of a new file that has old lines."""
        assert self.file is not None
        if not hunk.lines:
            raise BadPatch(f"the hunk in line {begin} of the diff has no lines: write them with '+', '-' or a blank")
        if self.file.action != "add":
            return
        hunk.lines = ["+" if line == " " else line for line in hunk.lines]
        wrong = next((line for line in hunk.lines if line[:1] not in ("+", "\\")), None)
        if wrong is not None:
            raise BadPatch(
                f"{self.file.path} is a new file, of {_NOWHERE}: its line {wrong[:80]!r} must begin with '+'"
            )


def _forget_number(hunk: Hunk) -> None:
    """Leave out the line number of new lines alone, if their counts do not say that they are."""
    if all(line.startswith(("+", "\\")) for line in hunk.lines):
        hunk.line = None


def _named(side: str) -> str | None:
    """The path of a header line, None for /dev/null."""
    path = _unquoted(_STAMP.sub("", side.partition("\t")[0]).strip())
    return None if path == _NOWHERE else _without_side(path)


def _without_side(path: str) -> str:
    return path[2:] if path.startswith(("a/", "b/")) else path


def _path_of_both(names: str) -> str:
    """The path in `a/path b/path`, '' where the two differ."""
    middle = len(names) // 2
    old, new = _without_side(_unquoted(names[:middle])), _without_side(_unquoted(names[middle + 1 :]))
    return old if old == new else ""


def _unquoted(path: str) -> str:
    """`path` without the quotes and escapes that git writes around unusual letters."""
    if len(path) < 2 or path[0] != '"' or path[-1] != '"':
        return path
    return _OCTETS.sub(_octet, path[1:-1].encode()).decode(errors="replace")


def _octet(found: re.Match[bytes]) -> bytes:
    escape = found[1]
    return bytes([int(escape, 8) & 255]) if escape[0] in b"01234567" else _ESCAPES.get(escape, escape)
