"""Lists of entries with their tokens. A list that would be too long names folders in place of what is in them.

spec: @project_manifest
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, count

from engine.functions.counts import counted
from engine.functions.fences import fence_path
from engine.functions.tokens import token_estimate

_FOLDED = "[a path that ends in / stands for what is in it; list that by its path and **]"
_HEAD_ROOM = len(_FOLDED) + 60
"""Room for the lines at the head and the end of a list with folders."""


def manifest_text(entries: str | None, rate: float | None, most: int | None) -> str | None:
    """A line `* PATH - N tokens` for each of `entries`; above `most` characters folders stand for the files in them.

    `entries` is a JSON array of `[path, characters, note]`; a note stands in the place of the tokens, which are counted at
    `rate` characters each. With a `most` of NULL the list is whole. Folders are opened from the top, small ones first. NULL
    for none.
    """
    said = cache(lambda chars, note: _said(chars, note, rate))  # many files are as long as others
    found = [(path, _line(path, said(chars, note)), chars or 0) for path, chars, note in json.loads(entries or "[]")]
    lines = [line for _, line, _ in found]
    if most is None or sum(map(len, lines)) + len(lines) <= most:
        return "\n".join(lines) or None
    root = _Folder("")
    for path, line, chars in found:
        root.add(path, line, chars)
    return "\n".join([_FOLDED, *_cut(_folded(root, rate, most - _HEAD_ROOM), most - _HEAD_ROOM)])


def _said(chars: int | None, note: str | None, rate: float | None) -> str:
    return note if chars is None and note is not None else str(counted(token_estimate(chars, rate), "token"))


def _line(path: str, said: str) -> str:
    return f"* {fence_path(path) or path} - {said}"


@dataclass(eq=False)
class _Folder:
    """A folder: the lines of its files, the folders in it, and what is below it all in all."""

    path: str
    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)
    entries: int = 0
    chars: int = 0

    def add(self, path: str, line: str, chars: int) -> None:
        """Take a file in, and make the folders of its path."""
        folder, start = self, 0
        folder._count(chars)
        while (end := path.find("/", start) + 1) > 0:
            name = path[start:end]
            if name not in folder.folders:
                folder.folders[name] = _Folder(path[:end])
            folder, start = folder.folders[name], end
            folder._count(chars)
        folder.files[path] = line

    def _count(self, chars: int) -> None:
        self.entries += 1
        self.chars += chars

    def line(self, rate: float | None) -> str:
        """The line that stands for it."""
        return _line(self.path, f"{counted(self.entries, 'entry', 'entries')}, {_said(self.chars, None, rate)}")


def _folded(root: _Folder, rate: float | None, room: int) -> list[str]:
    """The lines of a tree whose folders are opened while there is room: those further up first, then smaller ones."""
    orders = count(1)
    waiting = [(0, _cost(root, rate), 0, root)]
    found: dict[str, str] = {}
    while waiting:
        depth, cost, _, folder = heapq.heappop(waiting)
        if depth and cost > room:
            found[folder.path] = folder.line(rate)
            continue
        room -= cost
        found |= folder.files
        for each in folder.folders.values():
            below = _cost(each, rate) - len(each.line(rate)) - 1
            heapq.heappush(waiting, (depth + 1, below, next(orders), each))
    return [line for _, line in sorted(found.items())]


def _cost(folder: _Folder, rate: float | None) -> int:
    """The characters of the lines of what is right in a folder."""
    return sum(len(line) + 1 for line in folder.files.values()) + sum(
        len(each.line(rate)) + 1 for each in folder.folders.values()
    )


def _cut(lines: list[str], most: int) -> list[str]:
    """As many lines as there is room for, and the number of the others."""
    for number, end in enumerate(accumulate(len(line) + 1 for line in lines)):
        if end > most:
            return [*lines[:number], f"[… {counted(len(lines) - number, 'more line')}]"]
    return lines
