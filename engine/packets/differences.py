"""Says in which sections two packets differ.

spec: @packet_differences
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.functions.edits.comparison import edit_diff

_OPENING = re.compile(r"<([A-Za-z_][\w.-]*)(?: [^\n]*)?>", re.ASCII)
_ENTRY = re.compile(r".*<<(:::.+)")
_HEADING = re.compile(r"#{1,2} (.+)")
_LONGEST_NAME = 60
_BETWEEN = "between sections"


class SectionDifference(NamedTuple):
    """A section of a packet that differs: the message it is in, its name, and the unified diff of its text."""

    role: str
    section: str
    diff: str


def packet_differences(
    before: Iterable[tuple[str, str]], after: Iterable[tuple[str, str]]
) -> Iterator[SectionDifference]:
    """The sections that differ between two packets, each given as its messages (role, text), in the order of `after`.

    The sections of a system message are its headings, those of any other message its tags. A section that only one of the
    packets has is a diff from or to /dev/null.
    """
    old, new = dict(before), dict(after)
    for role in dict.fromkeys([*new, *old]):
        if old.get(role) != new.get(role):
            yield from _in_message(role, old.get(role, ""), new.get(role, ""))


def sections(role: str, text: str) -> dict[str, str]:
    """The sections of a message by their names, in order; a name that comes again has a number behind it."""
    found: dict[str, str] = {}
    for name, part in _headed(text) if role == "system" else _tagged(text):
        unique, number = name, 2
        while unique in found:
            unique, number = f"{name} ({number})", number + 1
        found[unique] = part
    return found


def _in_message(role: str, before: str, after: str) -> Iterator[SectionDifference]:
    old, new = sections(role, before), sections(role, after)
    for name in [*new, *(name for name in old if name not in new)]:
        if diff := edit_diff(name, old.get(name), new.get(name)):
            yield SectionDifference(role, name, diff)


def _headed(text: str) -> Iterator[tuple[str, str]]:
    name, lines = "beginning", list[str]()
    for line in text.splitlines(keepends=True):
        if heading := _HEADING.match(line):
            if lines:
                yield name, "".join(lines)
            name, lines = heading[1].strip()[:_LONGEST_NAME], []
        lines.append(line)
    if lines:
        yield name, "".join(lines)


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Parts a message at its tags. What an entry holds is data, so no tag in it begins or ends a section."""
    name, lines = _BETWEEN, list[str]()
    fence: str | None = None
    for line in text.split("\n"):
        if name == _BETWEEN and (opening := _OPENING.fullmatch(line)):
            if any(each.strip() for each in lines):
                yield name, "\n".join(lines) + "\n"
            name, lines = opening[1], []
        lines.append(line)
        if fence is not None:
            fence = None if line == fence else fence
        elif name != _BETWEEN and line == f"</{name}>":
            yield name, "\n".join(lines) + "\n"
            name, lines = _BETWEEN, []
        elif name not in (_BETWEEN, "prompt") and (entry := _ENTRY.fullmatch(line)):
            fence = entry[1]
    if any(each.strip() for each in lines):
        yield name, "\n".join(lines)
