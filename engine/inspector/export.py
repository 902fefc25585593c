"""Writes a run as static pages: the same as a server shows, for somebody who has neither the file nor an engine.

spec: @inspector_export
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Conflict, EngineError, NotFound

from .drawing import draw
from .pages import PAGES
from .pages.run import PER_PAGE
from .places import Asked, StaticPlaces, file_name
from .serving import ASSETS, asset

if TYPE_CHECKING:
    from engine.api.database import Database

MOST_TURNS = 2_000
MOST_ENTRIES = 1_000
_TURNS = "select turn from past_turns where run = ? order by turn desc limit ?"
_OWN = "select min(sequence), max(sequence) from turns where run_id = (select id from runs where alias = ?)"
_PATHS = """
    select path from known_entries where run = :run
    union
    select path from file_changes where run in (select run from tree_runs where top = :run)
    limit :most
"""


def export_run(db: Database, run: str, folder: Path) -> int:
    """Write the pages of `run` into `folder`, and count them; index.html is its timeline.

    Raises `Conflict` (409) for a folder that holds other files, and `EngineError` (500) where it cannot be written.
    """
    pages = _pages(db, run)
    places = StaticPlaces(pages)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ours = {*(file_name(*each) for each in pages), *ASSETS}
        if strange := sorted(path.name for path in folder.iterdir() if path.name not in ours):
            raise Conflict(f"{folder}: contains other files, such as {strange[0]!r}; choose a new or empty folder")
        if links := sorted(path.name for path in folder.iterdir() if path.is_symlink() or not path.is_file()):
            raise Conflict(f"{folder}: {links[0]!r} is a link or a folder; choose a new or empty folder")
        for name in ASSETS:
            _write(folder / name, asset(name))
        written = 0
        for name, asked in pages:
            try:
                found = PAGES[name](db, asked)
            except NotFound:
                continue  # of an entry that was never in view there is nothing to show
            _write(folder / file_name(name, asked), draw(name, places, found).encode())
            written += 1
    except OSError as error:
        raise EngineError(f"{folder}: cannot be written: {error.strerror}") from None
    return written


def _write(path: Path, content: bytes) -> None:
    """Write a file of an export; a link that somebody has laid there meanwhile is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)


def _pages(db: Database, run: str) -> list[tuple[str, Asked]]:
    first, last = db.tuples(_OWN, (run,))[0]
    parts = 1 if first is None else -(-(last - first + 1) // PER_PAGE)
    turns = [str(turn) for (turn,) in db.tuples(_TURNS, (run, MOST_TURNS))]
    paths = [str(path) for (path,) in db.tuples(_PATHS, {"run": run, "most": MOST_ENTRIES})]
    return [
        ("run", {"run": run}),
        *(("run", {"run": run, "page": str(part)}) for part in range(1, parts + 1)),
        *((name, {"run": run}) for name in ("tree", "entries", "acts", "why", "record")),
        *(("turn", {"run": run, "turn": turn}) for turn in turns),
        *(("entry", {"run": run, "path": path}) for path in paths),
    ]
