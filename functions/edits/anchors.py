"""Line anchors: edits that name lines by their number and a short hash of what stands there.

A line of a file is shown as ``12:a3f|text``. An edit names such anchors in the opening line of a block, so that it need not
repeat the text that it replaces; one whose hash is not that of the present line changes nothing.

spec: @line_anchors
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from engine.functions.counts import counted
from engine.functions.lazy import lazy_regex

from .lines import Lines, Mismatch, Run, Unreadable, without_transport
from .markers import ANCHOR_FORM

_ANCHOR = r"(0|[1-9]\d{0,8}:[0-9a-f]{3})\|?"
_OPENER = lazy_regex(
    rf"[ \t]*<<((?:REPLACE|AFTER|DELETE)\w{{0,20}})[ \t]+{_ANCHOR}(?:[ \t]*(?:\.\.|-)[ \t]*{_ANCHOR})?(?:[ \t]+(\1))?\s*\Z"
)
_SHOWN_LINE = lazy_regex(
    r"[ \t]*<<((?:REPLACE|AFTER|DELETE)\w{0,20})[ \t]+([1-9]\d{0,8}:[0-9a-f]{3})\|([ \t]*\S[^\n]*?)(?:[ \t]+(\1))?\s*\Z"
)
_COPIED = lazy_regex(r"[ \t]*([1-9]\d{0,8}):([0-9a-f]{3})\|")
_LONGEST_OPENER = 2_000
_AROUND = 2
_SHOWN = 120
_ELSEWHERE = 3


class _Opener(NamedTuple):
    """The first line of a block: its word, its anchors, the text of a line that stands behind one, and a closer."""

    word: str
    first: str
    last: str | None
    shown: str | None
    closed: bool


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
    return "<<" in body and _opener(body.lstrip().partition("\n")[0]) is not None


def apply_anchored(text: str, body: str) -> str:
    """What the edits of `body` make of `text`: all or none. Raises `Mismatch`."""
    return _applied(Lines.of(text), _read(without_transport(body), _lines(text))).text()


def check_copied(written: list[str], current: str | None) -> None:
    """Raise `Unreadable` for a new line that begins with the anchor of a line of `current`, as it is shown."""
    copied = [(line, found) for line in written if "|" in line and (found := _COPIED.match(line))]
    present = _lines(current) if copied and current else []
    line = next((line for line, found in copied if _matches(found[1], found[2], present)), None)
    if line is not None:
        raise Unreadable(
            f"The new text {line.strip()[:_SHOWN]!r} begins with an anchor; leave anchors out of it. Nothing was changed."
        )


def _hash(line: str) -> str:
    """Three hexadecimal digits of what a line says; its ending does not count."""
    return f"{zlib.crc32(line.removesuffix(chr(13)).encode('utf-8', 'surrogatepass')) & 0xFFF:03x}"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _opener(line: str) -> _Opener | None:
    """The opener of a block in `line`: its anchors may have the bar behind them, and one of them the line as it is shown."""
    if len(line) > _LONGEST_OPENER:
        return None
    if found := _OPENER.match(line):
        return _Opener(found[1], found[2], found[3], None, bool(found[4]))
    if found := _SHOWN_LINE.match(line):
        return _Opener(found[1], found[2], None, found[3], bool(found[4]))
    return None


def _read(body: str, present: list[str]) -> list[_Edit]:
    """The edits of a body, placed among the `present` lines."""
    edits: list[_Edit] = []
    queue = iter(_lines(body))
    for line in queue:
        if not line.strip():
            continue
        opener = _opener(line)
        if opener is None:
            raise _refused(f"{line.strip()[:_SHOWN]!r} stands outside of a block with an anchor. {ANCHOR_FORM}")
        content: list[str] = []
        while not opener.closed:
            inner = next(queue, None)
            if inner is None:
                raise _refused(f"<<{opener.word} has no closing {opener.word}, alone on a line.")
            if inner.strip() == opener.word:
                break
            content.append(inner)
        edits.append(_placed(opener, content, present))
    return edits


def _refused(said: str) -> Unreadable:
    return Unreadable(f"{said} Nothing was changed.")


def _placed(opener: _Opener, content: list[str], present: list[str]) -> _Edit:
    word, first, last = opener.word, opener.first, opener.last
    name = f"<<{word} {first}{f'..{last}' if last else ''}"
    for line in content:
        copied = _COPIED.match(line)
        if copied and _matches(copied[1], copied[2], present):
            raise _refused(
                f"{name}: the new text begins with the anchor {copied[0].strip()!r}; leave anchors out of it."
            )
    start, end = _index(name, first, present), _index(name, last or first, present)
    if opener.shown is not None and opener.shown.split() != present[start].split():
        raise _refused(
            f"{name}: behind the anchor stands {opener.shown[:_SHOWN]!r}. Write the new text below the marker."
        )
    if word.startswith("AFTER"):
        if last:
            raise _refused(f"{name}: names one line.")
        return _Edit(name, start + 1, 0, content)
    if start < 0 or end < start:
        raise _refused(f"{name}: names no lines from first to last.")
    if word.startswith("DELETE") and any(line.strip() for line in content):
        raise _refused(f"{name}: a deletion has no text; use <<REPLACE.")
    return _Edit(name, start, end - start + 1, [] if word.startswith("DELETE") else content)


def _index(name: str, anchor: str, present: list[str]) -> int:
    """The index of the line that an anchor names, -1 for the beginning. Raises `Mismatch` for any other line."""
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
    raise Mismatch("\n".join([*said, "Nothing was changed."]))


def _matches(number: str, digits: str, present: list[str]) -> bool:
    return 0 < int(number) <= len(present) and _hash(present[int(number) - 1]) == digits


def _applied(lines: Lines, edits: list[_Edit]) -> Lines:
    """`lines` after all edits, each placed among them. Raises `Mismatch` where two take the same line."""
    runs: list[Run] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.taken > 0)):
        if edit.start < position:
            raise Mismatch(f"{edit.name}: another block of this set changes that line too. Nothing was changed.")
        runs.append(_run(lines, edit))
        position = edit.start + edit.taken
    return lines.replaced(runs)


def _run(lines: Lines, edit: _Edit) -> Run:
    """The run of an edit: new lines end as they say, where any of them ends in CR, else as those that they replace."""
    end = edit.start + edit.taken
    coded = any(line.endswith("\r") for line in edit.lines)
    shared = lines.ending(
        (edit.start, end), lines.kinds(edit.start, end) or lines.kinds(edit.start - 1, edit.start + 1)
    )
    ends = [("\r\n" if line.endswith("\r") else "\n") if coded else shared for line in edit.lines]
    return Run(edit.start, end, [line.removesuffix("\r") for line in edit.lines], ends)
