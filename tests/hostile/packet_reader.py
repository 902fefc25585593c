"""Reads packets by the rule of SPEC @fences and by nothing else: it shares no code with the engine.

It raises `ValueError` for a text that does not follow the rule from its first character to its last.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_OPENING = re.compile(r"<([a-z]+)(-[0-9a-f]{8})?( [^\n]*)?>\n")
_SUFFIX = re.compile(r":::[0-9a-f]{8}\Z")
_REFERENCE = re.compile(r"&(lt|gt|quot|amp|#[0-9]+);")
_REFERENCES = {"lt": "<", "gt": ">", "quot": '"', "amp": "&"}
_OWN_WORDS = {"prompt", "instructions", "budget"}


class Entry(NamedTuple):
    """An entry as a packet shows it; a record without a text has None."""

    path: str
    text: str | None
    head: dict[str, Any]


def path_of(name: str) -> str:
    """The path of an entry, of its name as it is shown."""
    return _REFERENCE.sub(lambda found: _REFERENCES.get(found[1]) or chr(int(found[1][1:])), name)


def read_full(packet: str) -> dict[str, Any]:
    """The sections of a full packet by their names: a list of entries, or the text of a prompt and of our own words."""
    sections: dict[str, Any] = {}
    position = 0
    while position < len(packet):
        opening = _expect(_OPENING, packet, position)
        name, closing = opening[1], f"</{opening[1]}{opening[2] or ''}>\n"
        if name in sections:
            raise ValueError(f"a second section {name!r} at {position}")
        if name in _OWN_WORDS:
            end = packet.index(f"\n{closing}", opening.end() - 1)
            sections[name] = packet[opening.end() : end]
            position = end + 1 + len(closing)
        else:
            sections[name], position = _entries(packet, opening.end(), closing)
    return sections


def _entries(packet: str, position: int, closing: str) -> tuple[list[Entry], int]:
    """The entries from `position` up to the closing tag, and where the text behind it begins."""
    entries = []
    while not packet.startswith(closing, position):
        head, end = json.JSONDecoder().raw_decode(packet, position)
        fence = packet[end : packet.index("\n", end)]
        if not fence.startswith(" <<:::"):
            raise ValueError(f"no fence at {end}: {fence!r}")
        begin, fence = end + len(fence), fence.removeprefix(" <<")
        end = packet.index(f"\n{fence}\n", begin)
        name = _SUFFIX.sub("", fence.removeprefix(":::"))
        entries.append(Entry(path_of(name), packet[begin + 1 : end] if end > begin else None, head))
        position = end + len(fence) + 2
    return entries, position + len(closing)


def read_compact(packet: str) -> tuple[list[tuple[str, str]], list[str], str]:
    """The files (path, text), the records and the prompt of a compact packet."""
    files, records, position = [], [], 0
    while (opening := _OPENING.match(packet, position)) and opening[1] in ("file", "log"):
        closing = f"\n</{opening[1]}{opening[2] or ''}>\n"
        end = packet.index(closing, opening.end() - 1)
        if opening[1] == "file":
            path = re.fullmatch(r' path="([^"]*)"', opening[3] or "")
            if path is None:
                raise ValueError(f"a file without a path at {position}")
            files.append((path_of(path[1]), packet[opening.end() : end]))
        else:
            records.append(packet[opening.end() : end])
        position = end + len(closing)
        position += packet.startswith("\n", position)
    if opening and opening[1] == "prompt":
        closing = f"\n</prompt{opening[2] or ''}>"
        if not packet.endswith(closing):
            raise ValueError("something stands behind the prompt")
        return files, records, packet[opening.end() : -len(closing)]
    return files, records, packet[position:]


def _expect(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str]:
    found = pattern.match(text, position)
    if found is None:
        raise ValueError(f"no tag of a section at {position}: {text[position : position + 60]!r}")
    return found
