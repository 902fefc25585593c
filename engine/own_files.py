"""The engine's own files, by whatever name: no file of a project, and nothing is written over or removed there."""

from __future__ import annotations

import os
from pathlib import Path

_ENDINGS = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to a database's name for the files that belong to it."""

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""


def identity(place: Path) -> Identity | None:
    """The identity of the file at `place`, links followed; None where there is none."""
    try:
        status = os.stat(place)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class OwnFiles:
    """The database at `database` and the files that SQLite keeps beside it; none where it is None."""

    def __init__(self, database: Path | None) -> None:
        real = None if database is None else os.path.realpath(database)
        self._places = [] if real is None else [Path(real + ending) for ending in _ENDINGS]
        # on a file system that ignores case, another spelling makes the same file
        self._names = frozenset(str(place).casefold() for place in self._places)

    def identities(self) -> frozenset[Identity]:
        """Those that are there."""
        return frozenset(found for place in self._places if (found := identity(place)))

    def hold(self, place: Path) -> bool:
        """Whether the real path `place` is one of them, by its name or by what it is; it need not exist."""
        return str(place).casefold() in self._names or identity(place) in self.identities()
