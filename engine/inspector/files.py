"""The databases that an inspector shows, each open for reading.

spec: @inspector
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import engine
from engine.errors import NotFound

if TYPE_CHECKING:
    from engine.api.database import Database

_T = TypeVar("_T")


class Stamp(NamedTuple):
    """When a file and its log were written, and how long they are: other stamps mean other content."""

    written: int
    size: int
    log_written: int
    log_size: int

    @property
    def changed(self) -> int:
        """When the file changed, in nanoseconds since 1970; 0 for one that is gone."""
        return max(self.written, self.log_written)

    def told(self) -> str | None:
        """When the file changed, in UTC."""
        return strftime("%Y-%m-%d %H:%M:%S", gmtime(self.changed / 1e9)) if self.changed else None


class File:
    """One database: `number` is its place among those shown, `label` what it is called."""

    def __init__(self, number: int, path: Path, label: str) -> None:
        self.number = number
        self.path = path
        self.label = label
        self._usual = _Handle(self)
        self._apart = _Handle(self)

    def look(self, work: Callable[[Database], _T], *, apart: bool = False) -> _T:
        """The result of `work` with a handle that only reads; one page at a time has it.

        What may take long is done `apart`: other pages do not wait for it.
        """
        return (self._apart if apart else self._usual).look(work)

    def opened(self) -> Database:
        """A handle of its own that only reads; whoever asked for it closes it."""
        return engine.open(self.path, read_only=True, config=True)

    def stamp(self) -> Stamp:
        """How the file lies there now; it is not opened for that."""
        (written, size), (log_written, log_size) = _stat(self.path), _stat(Path(f"{self.path}-wal"))
        return Stamp(written, size, log_written if log_size else 0, log_size)

    def rest(self) -> None:
        """Close the handle of pages until one asks again."""
        self._usual.close()

    def close(self) -> None:
        """Give the handles back."""
        self._usual.close()
        self._apart.close()


class _Handle:
    """A handle on a file that is opened at first use, and again where the file was replaced."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._db: Database | None = None

    def look(self, work: Callable[[Database], _T]) -> _T:
        with self._lock:
            if self._db is not None and self._db.moved():
                self._close()
            if self._db is None:
                self._db = self._file.opened()
            return work(self._db)

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()


class Files:
    """All databases of an inspector, by number."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.all = [File(number, path, label) for number, (path, label) in enumerate(_labelled(paths))]

    def __getitem__(self, number: int) -> File:
        if not 0 <= number < len(self.all):
            raise NotFound(f"file {number}: there are {len(self.all)}")
        return self.all[number]

    def close(self) -> None:
        """Close all of them."""
        for file in self.all:
            file.close()


def _stat(path: Path) -> tuple[int, int]:
    with suppress(OSError):
        found = path.stat()
        return found.st_mtime_ns, found.st_size
    return 0, 0


def _labelled(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each path with what tells it from the others: the part below the folder that holds them all."""
    whole = [path.resolve() for path in paths]
    top = os.path.commonpath([path.parent for path in whole])
    return [(path, os.path.relpath(path, top) if len(whole) > 1 else path.name) for path in whole]
