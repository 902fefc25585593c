"""Line anchors: edits that name lines by their number and a short hash of what stands there.

A line of a file is shown as ``12:a3f|text``. An edit names such anchors in the opening line of a block, so that it need not
repeat the text that it replaces; one whose hash is not that of the present line changes nothing.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from engine.functions.compact import to_json
from engine.functions.counts import counted
from engine.functions.lazy import lazy_regex

_ANCHOR = r"(0|[1-9]\d{0,8}:[0-9a-f]{3})"
_OPENER = lazy_regex(
    rf"[ \t]*<<((?:REPLACE|AFTER|DELETE)\w{{0,20}})[ \t]+{_ANCHOR}(?:[ \t]*(?:\.\.|-)[ \t]*{_ANCHOR})?(?:[ \t]+(\1))?\s*\Z"
)
_COPIED = lazy_regex(r"([1-9]\d{0,8}):([0-9a-f]{3})\|")
_AROUND = 2
_SHOWN = 120
_ELSEWHERE = 3


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """The edits cannot be made: an outcome, and what the model is told."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class _Edit(NamedTuple):
    """Replaces `taken` lines from index `start` by `lines`."""

    name: str
    start: int
    taken: int
    lines: list[str]


def anchor_lines(text: str | None) -> str | None:
    """`text` with an anchor before each of its lines, ``NUMBER:HASH|``."""
    if not text:
        return text
    shown = "\n".join(f"{number}:{_hash(line)}|{line}" for number, line in enumerate(_lines(text), 1))
    return shown + "\n" if text.endswith("\n") else shown


def has_anchors(body: str) -> bool:
    """Whether `body` begins as an edit that names anchors."""
    return "<<" in body and _OPENER.match(body.lstrip().partition("\n")[0]) is not None


def apply_anchored(current: str | None, body: str) -> str:
    """What the edits of `body` make of `current` (NULL: there is no entry), as JSON of `edit_apply`: all or none."""
    try:
        text = _applied(current or "", _read(body, _lines(current or "")))
    except _Refused as refused:
        return to_json({"state": "failed", "outcome": refused.outcome, "message": f"{refused} Nothing was changed."})
    found = {"state": "resolved", "body": text, "changed": text != current, "whole": False, "warnings": []}
    return to_json(found)


def _hash(line: str) -> str:
    """Three hexadecimal digits of what a line says; its ending does not count."""
    return f"{zlib.crc32(line.removesuffix(chr(13)).encode('utf-8', 'surrogatepass')) & 0xFFF:03x}"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _read(body: str, present: list[str]) -> list[_Edit]:
    """The edits of a body, placed among the `present` lines."""
    edits: list[_Edit] = []
    queue = iter(_lines(body))
    for line in queue:
        if not line.strip():
            continue
        opener = _OPENER.match(line)
        if opener is None:
            raise _Refused("validation", f"{line.strip()[:_SHOWN]!r} stands outside of a block with an anchor.")
        word, first, last, closed = opener.groups()
        content: list[str] = []
        while not closed:
            inner = next(queue, None)
            if inner is None:
                raise _Refused("validation", f"<<{word} has no closing {word}, alone on a line.")
            if inner.strip() == word:
                break
            content.append(inner.removesuffix("\r"))
        edits.append(_placed(word, first, last, content, present))
    return edits


def _placed(word: str, first: str, last: str | None, content: list[str], present: list[str]) -> _Edit:
    name = f"<<{word} {first}{f'..{last}' if last else ''}"
    for line in content:
        copied = _COPIED.match(line)
        if copied and _matches(copied[1], copied[2], present):
            raise _Refused(
                "validation", f"{name}: the new text begins with the anchor {copied[0]!r}; leave anchors out of it."
            )
    start, end = _index(name, first, present), _index(name, last or first, present)
    if word.startswith("AFTER"):
        if last:
            raise _Refused("validation", f"{name}: names one line.")
        return _Edit(name, start + 1, 0, content)
    if start < 0 or end < start:
        raise _Refused("validation", f"{name}: names no lines from first to last.")
    if word.startswith("DELETE") and any(content):
        raise _Refused("validation", f"{name}: a deletion has no text; use <<REPLACE.")
    return _Edit(name, start, end - start + 1, [] if word.startswith("DELETE") else content)


def _index(name: str, anchor: str, present: list[str]) -> int:
    """The index of the line that an anchor names, -1 for the beginning. Raises `_Refused` for any other line."""
    if anchor == "0":
        return -1
    number, _, digits = anchor.partition(":")
    if _matches(number, digits, present):
        return int(number) - 1
    near = range(max(int(number) - 1 - _AROUND, 0), min(int(number) + _AROUND, len(present)))
    same = [at for at, line in enumerate(present) if _hash(line) == digits]
    said = [f"{name}: line {number} is not {anchor} any more; the text has {counted(len(present), 'line')}."]
    said += [f"{at + 1}:{_hash(present[at])}|{present[at][:_SHOWN]}" for at in near]
    if same:
        said.append(f"{digits} stands at line {', '.join(str(at + 1) for at in same[:_ELSEWHERE])} now.")
    raise _Refused("conflict", "\n".join(said) + "\n")


def _matches(number: str, digits: str, present: list[str]) -> bool:
    return 0 < int(number) <= len(present) and _hash(present[int(number) - 1]) == digits


def _applied(text: str, edits: list[_Edit]) -> str:
    """`text` after all edits, each placed among its lines. Raises `_Refused` where two take the same line."""
    lines, ending = _lines(text), "\r" if "\r\n" in text else ""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.taken > 0))
    parts: list[str] = []
    position = 0
    for edit in ordered:
        if edit.start < position:
            raise _Refused("conflict", f"{edit.name}: another block of this set changes that line too.")
        parts += [*lines[position : edit.start], *(line + ending for line in edit.lines)]
        position = edit.start + edit.taken
    parts += lines[position:]
    if not parts:
        return ""
    return "\n".join(parts) + ("\n" if text.endswith("\n") or not text else "")
