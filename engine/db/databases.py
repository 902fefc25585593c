"""Which databases a list of files and folders means.

spec: @several_files
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.errors import EngineError, NotFound
from engine.schema.header import check_header

SUFFIXES = frozenset([".db", ".sqlite", ".sqlite3"])
"""What the name of a file in a folder ends in, so that it is looked at."""


def databases_in(places: Iterable[Path]) -> list[Path]:
    """The databases that are named, and the engine's in the folders that are named and below them, each once, in order.

    A file that is named is taken as it is. Links to folders are not followed. Raises `NotFound` (404) for a place that does
    not exist, and if there is no database.
    """
    found: dict[Path, None] = {}
    named = list(places)
    for place in named:
        if not place.exists():
            raise NotFound(f"{place}: no such file or folder")
        found |= dict.fromkeys(_below(place) if place.is_dir() else [place])
    if not found:
        raise NotFound(f"{', '.join(map(str, named))}: holds no engine database")
    return list(found)


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and _is_ours(path):
            yield path


def _is_ours(path: Path) -> bool:
    try:
        check_header(path, read_only=True)
    except EngineError:
        return False
    return path.stat().st_size > 0
