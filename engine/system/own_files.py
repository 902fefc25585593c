"""The engine's own files, under any name: they belong to no project, and no effect writes or removes them.

spec: @own_files
"""

from __future__ import annotations

import os
from pathlib import Path

ENDINGS = ("", "-wal", "-shm", "-journal")
"""The endings of the files that SQLite keeps for a database."""

Identity = tuple[int, int]
"""Device and inode: they are the same for all names of a file."""


def identity(place: Path) -> Identity | None:
    """The identity of the file at `place`, after following links; None where there is no file."""
    try:
        status = os.stat(place)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class OwnFiles:
    """The database at `database` and the files that SQLite keeps beside it; no files for None."""

    def __init__(self, database: Path | None) -> None:
        real = None if database is None else os.path.realpath(database)
        self._places = [] if real is None else [Path(real + ending) for ending in ENDINGS]
        # on a file system that ignores case, another spelling is the same file
        self._names = frozenset(str(place).casefold() for place in self._places)

    def identities(self) -> frozenset[Identity]:
        """The identities of those files that exist."""
        return frozenset(found for place in self._places if (found := identity(place)))

    def hold(self, place: Path) -> bool:
        """Whether the real path `place` is one of these files, by name or by inode; it need not exist."""
        if str(place).casefold() in self._names:
            return True
        found = identity(place)
        return found is not None and found in self.identities()
