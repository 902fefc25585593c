"""Files of behavioural threads: TOML, as a person writes it, made into the rows of `threads` and `thread_patterns`.

What a row may say is decided in the database (`_thread_faults`); here is only what a file may say: its keys, their types,
and on which lines they stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import NotFound
from engine.system.toml_files import loaded, read_file

PARTS = ("request", "wait", "block", "interrupt")
_KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "purpose": (str,),
    "priority": (int,),
    "repeat": (bool, int),
    "each_prompt": (bool,),
    "tool": (str,),
    "point": (list,),
}
_NEEDED = ("name", "purpose", "point")
_NAME = re.compile(r"[a-z0-9_-]{1,40}")
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*thread(?:[ \t]*\.[ \t]*(point))?[ \t]*\]\]")
_MOST = 100
"""Threads of one file."""
_MOST_POINTS = 20
"""Points of one thread."""


@dataclass
class WrittenThread:
    """A thread of a file: the columns of its row, its patterns (point, ordinal, part, event, fields, message), and the line
    of the thread (under 0) and of each of its points. `title` is what errors call it.
    """

    title: str
    columns: dict[str, Any]
    patterns: list[tuple[int, int, str, str, str, str | None]] = field(default_factory=list)
    lines: dict[int, int] = field(default_factory=dict)


def read_threads(place: Path) -> tuple[list[WrittenThread], list[tuple[int, str]]]:
    """The threads of a file, and what is wrong with them, each with its line.

    Raises `NotFound` (404), and `ValidationError` (400) where it is no TOML.
    """
    if not place.exists():
        raise NotFound(f"{place}: there is no such file")
    text = read_file(place)
    read = _File(place, _lines(text))
    found = read.threads(loaded(text, place))
    return (found if not read.faults else [_on_trial(number, each) for number, each in enumerate(found)]), read.faults


def _on_trial(number: int, thread: WrittenThread) -> WrittenThread:
    """A thread of a file with faults, as a row that can be written, so that its patterns are looked at as well."""
    plain = {"purpose": "", "priority": 100, "repeat_from": None, "each_prompt": 0, "tool": None}
    return WrittenThread(thread.title, {"name": f"{number:040}", **plain}, thread.patterns, thread.lines)


def told(place: Path, faults: list[tuple[int, str]]) -> str:
    """All that is wrong with a file, one line each, as ``FILE:LINE: what``."""
    return "\n".join(f"{place}:{line}: {fault}" for line, fault in sorted(set(faults)))


def _lines(text: str) -> list[list[int]]:
    """For each [[thread]] its line, then those of its points."""
    found: list[list[int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HEADER.match(line):
            if match[1] is None:
                found.append([number])
            elif found:
                found[-1].append(number)
    return found


class _File:
    def __init__(self, place: Path, lines: list[list[int]]) -> None:
        self.place = place
        self.faults: list[tuple[int, str]] = []
        self._lines = lines

    def threads(self, read: dict[str, Any]) -> list[WrittenThread]:
        for key in read.keys() - {"thread"}:
            self._fault(1, f"there is no key {key!r}; a file has [[thread]] tables")
        given = read.get("thread")
        if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
            self._fault(1, "has no [[thread]] table")
            return []
        if len(given) > _MOST:
            self._fault(1, f"has {len(given)} threads; a file has at most {_MOST}")
        found = [self._thread(number, each) for number, each in enumerate(given[:_MOST])]
        names = [each.columns["name"] for each in found]
        for number, each in enumerate(found):
            if each.columns["name"] in names[:number]:
                self._fault(each.lines[0], f"thread {each.columns['name']!r} is there twice")
        return found

    def _thread(self, number: int, read: dict[str, Any]) -> WrittenThread:
        lines = self._lines[number] if number < len(self._lines) else [1]
        self._expect(lines[0], "a thread", read, _KEYS, _NEEDED)
        repeat = read.get("repeat", False)
        thread = WrittenThread(
            f"thread {str(read.get('name', number + 1))[:80]!r}",
            {
                "name": read.get("name"),
                "purpose": read.get("purpose"),
                "priority": read.get("priority", 100),
                "repeat_from": (1 if repeat else None) if isinstance(repeat, bool) else repeat,
                "each_prompt": int(bool(read.get("each_prompt", False))),
                "tool": read.get("tool"),
            },
            lines={0: lines[0]},
        )
        if isinstance(read.get("name"), str) and not _NAME.fullmatch(read["name"]):
            self._fault(lines[0], f"a name has at most 40 of a-z, 0-9, _ and -, not {read['name'][:80]!r}")
        if isinstance(read.get("priority", 100), int) and not 1 <= read.get("priority", 100) <= 1000:
            self._fault(lines[0], f"priority is from 1 to 1000, not {read['priority']}")
        if isinstance(repeat, int) and not isinstance(repeat, bool) and not 1 <= repeat <= _MOST_POINTS:
            self._fault(lines[0], f"repeat is true, or the number of a point from 1 to {_MOST_POINTS}")
        for place, point in enumerate(read["point"] if isinstance(read.get("point"), list) else [], 1):
            thread.lines[place] = lines[place] if place < len(lines) else lines[0]
            thread.patterns += self._point(place, thread.lines[place], point)
        return thread

    def _point(self, place: int, line: int, read: object) -> Iterator[tuple[int, int, str, str, str, str | None]]:
        if not isinstance(read, dict) or not read:
            self._fault(line, f"a point has one or more of {', '.join(PARTS)}")
            return
        self._expect(line, "a point", read, dict.fromkeys(PARTS, (list,)), ())
        ordinal = 0
        for part in PARTS:
            for pattern in read.get(part, ()) if isinstance(read.get(part, ()), list) else ():
                ordinal += 1
                if not isinstance(pattern, dict) or not isinstance(pattern.get("event"), str):
                    self._fault(
                        line, f'{part} must be a list of patterns such as {{ event = "edit", path = "src/**" }}'
                    )
                    continue
                if any(not isinstance(value, str) for value in pattern.values()):
                    self._fault(line, f"{part} of {pattern['event']!r}: event, message and fields are texts")
                    continue
                fields = {key: value for key, value in pattern.items() if key not in ("event", "message")}
                yield place, ordinal, part, pattern["event"], json.dumps(fields), pattern.get("message")

    def _expect(
        self, line: int, what: str, read: dict[str, Any], keys: dict[str, tuple[type, ...]], needed: tuple[str, ...]
    ) -> None:
        for key in read.keys() - keys.keys():
            self._fault(line, f"{what} has no key {key!r}; it has {', '.join(keys)}")
        for key in needed:
            if key not in read:
                self._fault(line, f"{what} needs {key}")
        for key, types in keys.items():
            if key in read and (
                not isinstance(read[key], types) or (isinstance(read[key], bool) and bool not in types)
            ):
                self._fault(line, f"{key} must be {_said(types)}")

    def _fault(self, line: int, fault: str) -> None:
        self.faults.append((line, fault))


def _said(types: tuple[type, ...]) -> str:
    names = {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}
    return ", or ".join(names[each] for each in types)
