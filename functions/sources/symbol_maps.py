"""The symbol map of a tree of files: their paths with what they define, as much as fits into a size."""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate
from typing import NamedTuple

from engine.functions.counts import counted
from engine.functions.fences import fence_path
from engine.functions.lazy import lazy_regex
from engine.functions.paths import path_scheme
from engine.functions.texts import body_symbols, is_code
from engine.functions.tokens import DEFAULT_DIVISOR

_LEFT_OUT = lazy_regex(r"\[… (\d+) more symbols\]\Z")
_SYMBOL = lazy_regex(r"\d+: ( *)")
_FOLDERS = 10
_TOKENS = 2_000
_LEAST_TOKENS = 100
_MOST_TOKENS = 100_000
_TAIL_CHARACTERS = 700
"""Room for what is said of the files that do not fit."""


class _File(NamedTuple):
    """A file: the line that names it, its symbols with their nesting, and how many more it has."""

    path: str
    line: str
    symbols: list[tuple[int, str]]
    more: int


def symbol_map(pattern: str | None, files: str | None, attributes: str | None) -> str | None:
    """The map of the `files` that `pattern` found, and what was left out of it.

    `files` is a JSON array of ``[path, lines, text]``, NULL for a file without text; the text is the whole body, its
    beginning, or the summary of a source file. What is nearest to the root comes first: paths up to half of the room, then
    what stands outermost in these files, then what is nested. `attributes` are those of the command, as JSON: ``limit`` is
    the size of the map in tokens of two characters, from 100 to 100,000; 2,000 where it is not given.
    """
    if files is None:
        return None
    try:
        found_files, given = json.loads(files), json.loads(attributes or "{}")
    except (ValueError, RecursionError):
        return None
    tokens = given.get("limit") if isinstance(given, dict) else None
    try:
        wanted = _TOKENS if tokens is None else min(max(int(tokens), _LEAST_TOKENS), _MOST_TOKENS)
    except (ValueError, TypeError, OverflowError):
        return f'limit="{_plain(str(tokens))[:40]}" is not a number of tokens.'
    characters = wanted * DEFAULT_DIVISOR
    rows = sorted(
        (row for row in found_files if path_scheme(row[0]) is None), key=lambda row: (row[0].count("/"), row[0])
    )
    found = [_file(*row) for row in rows]
    symbols = sum(len(file.symbols) + file.more for file in found)
    shown, kept = _chosen(found, characters)
    lines = [
        f'MAP path="{fence_path(pattern) or pattern or "**"}": {counted(len(found), "file")}, {counted(symbols, "symbol")}'
    ]
    for file, number in sorted(zip(found, kept, strict=False), key=lambda pair: pair[0].path):
        levels = sorted(range(len(file.symbols)), key=lambda at: (file.symbols[at][0], at))[:number]
        lines += [file.line, *(f"  {file.symbols[at][1]}" for at in sorted(levels))]
    rest = symbols - sum(kept)
    if shown < len(found) or rest:
        lines += _left_out(found[shown:], rest)
    return "\n".join(lines)


def _chosen(found: list[_File], characters: int) -> tuple[int, list[int]]:
    """How many files are shown, and of each how many symbols, the outermost first."""
    costs = list(accumulate(len(file.line) + 1 for file in found))
    whole = sum(len(symbol) + 3 for file in found for _, symbol in file.symbols)
    if not costs or costs[-1] + whole <= characters:
        return len(found), [len(file.symbols) for file in found]
    room = max(characters - _TAIL_CHARACTERS, 0)
    shown = sum(cost <= (room if not whole else room // 2) for cost in costs)
    room -= costs[shown - 1] if shown else 0
    kept = [0] * shown
    deepest = max((level for file in found[:shown] for level, _ in file.symbols), default=-1)
    for wanted in range(deepest + 1):
        for at, file in enumerate(found[:shown]):
            for symbol in (symbol for level, symbol in file.symbols if level == wanted):
                room -= len(symbol) + 3
                if room < 0:
                    return shown, kept
                kept[at] += 1
    return shown, kept


def _left_out(files: list[_File], symbols: int) -> list[str]:
    rest = f"{counted(len(files), 'file')} and {counted(symbols, 'symbol')}"
    lines = [f"[… {rest} are left out; a narrower path or a larger limit shows them]"]
    folders = Counter("/".join(file.path.split("/")[:-1][:2]) for file in files)
    # one alone is what was asked for
    largest = sorted(folders.items(), key=lambda item: (-item[1], item[0]))[:_FOLDERS] if len(folders) > 1 else []
    for name, count in largest:
        path = _plain(f"{name}/**" if name else "*")[:200]
        lines.append(f'* <get path="{path}" map/> - {counted(count, "file")}')
    return lines


def _file(path: str, size: int | None, text: str | None) -> _File:
    lines = (text or "").split("\n")
    left_out = _LEFT_OUT.match(lines[-1])
    if not is_code(path):
        lines = []
    elif not all(map(_SYMBOL.match, lines[:-1] if left_out else lines)):
        lines, left_out = body_symbols(path, text or ""), None
    if left_out:
        lines = lines[:-1]
    found = [(len(match[1]), _plain(line)) for line in lines if (match := _SYMBOL.match(line))]
    shown = "no text" if size is None else counted(size, "line")
    return _File(path, f"{_plain(path)} ({shown})", found, int(left_out[1]) if left_out else 0)


def _plain(text: str) -> str:
    """`text` without what would end its line or steer a terminal; what is a path may be copied into a command."""
    return text if text.isprintable() else fence_path(text) or text
