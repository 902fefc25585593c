"""The files and entries that can be named behind an @.

spec: @chat_keys
"""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.functions.counts import counted
from engine.terminal.printing import shown_path

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.project.workspace import Workspace

    from .session import Session

NAMED = re.compile(r"(?<![\w@])@([^\s@,;:!?()\[\]{}'\"`]+(?:://[^\s]+)?|[a-z]+://\S+)")
"""A place that a prompt names."""
_MOST_FILES = 20_000
_MOST = 50
_FRESH_S = 10.0
_ENTRIES = """
    select e.path, coalesce(e.tokens, 0) as tokens
    from known_entries as e
    where e.run = ? and e.category in ('data', 'unknown') and e.scheme <> 'file' and e.state <> 'removed'
    order by e.path
    limit 2000
"""
_PATTERNS = """
    select k.pattern, k.rule
    from file_constraints as k
    join projects as p on p.id = k.project_id
    where p.root = ?
"""
_known: dict[str, tuple[float, list[str]]] = {}
"""The files of each folder, and when they were listed."""
_listing: dict[str, threading.Thread] = {}
"""The folders that are being listed."""


def places_like(session: Session, typed: str, wait_s: float | None = None) -> list[tuple[str, str]]:
    """The files and entries whose path has the letters of `typed`, the nearest first, and what each is."""
    found: list[tuple[str, str]] = [(path, "") for path in files_of(session, wait_s)]
    try:
        rows = [] if session.is_new else session.db.rows(_ENTRIES, (session.run,))
    except EngineError:
        rows = []
    found += [(shown_path(str(row["path"])), str(counted(row["tokens"], "token"))) for row in rows]
    ranked = sorted((rank, len(path), path, note) for path, note in found if (rank := _rank(path, typed)) is not None)
    return [(path, note) for _, _, path, note in ranked[:_MOST]]


def files_of(session: Session, wait_s: float | None = None) -> list[str]:
    """The files that a run in this folder can see; listed again after some seconds, in a thread of its own.

    After `wait_s` seconds these are those that were listed before; None waits for the list.
    """
    from engine.project.workspace import Workspace

    place = Workspace(session.root, session.db.path)
    key = str(place.root)
    listed_at, _ = _known.get(key, (-_FRESH_S, []))
    if time.monotonic() - listed_at >= _FRESH_S:
        if key not in _listing or not _listing[key].is_alive():
            try:
                rows = session.db.rows(_PATTERNS, (key,))
            except EngineError:
                rows = []
            thread = threading.Thread(target=_list, args=(place, key, rows), daemon=True)
            _listing[key] = thread
            thread.start()
        _listing[key].join(wait_s)
    return _known.get(key, (0.0, []))[1]


def _list(place: Workspace, key: str, rows: list[Row]) -> None:
    try:
        names = [
            member.path
            for member in place.members(
                added=[row["pattern"] for row in rows if row["rule"] != "ignore"],
                ignored=[row["pattern"] for row in rows if row["rule"] == "ignore"],
                limit=_MOST_FILES,
            )
        ]
    except EngineError:  # too many, or the folder is gone: then nothing is offered
        names = []
    _known[key] = (time.monotonic(), names)


def _rank(path: str, typed: str) -> int | None:
    """How near a path is to what was typed; None where it has not all of its letters in that order."""
    if not typed:
        return 3
    low, want = path.lower(), typed.lower()
    name = low.rpartition("/")[2]
    if name.startswith(want):
        return 0
    if low.startswith(want):
        return 1
    if want in low:
        return 2
    letters = iter(low)
    return 4 if all(letter in letters for letter in want) else None


__all__ = ["NAMED", "files_of", "places_like"]
