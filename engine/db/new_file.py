"""Removes a database that was made when it was opened, where what it was made for fails before anybody has used it."""

from __future__ import annotations

import hashlib
from contextlib import closing, suppress
from pathlib import Path

import apsw

from engine.system.locate import remove_folder

from .connections import connected

_HEADER_BYTES = 100


class NewFile:
    """The file that an open handle has, if it was made for that: whether it is still as it was then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: str | None = None
        """The digest of a file that was just made, until it is looked into."""
        self._version: int | None = None
        """Of a file that was made here: the version of its data before anybody else has written to it."""
        self._unused: str | None = None
        """The digest of what it held when its use began."""

    def note_made(self, image: bytes) -> None:
        """A file with these bytes has just been made."""
        self._made = _digest(image)

    def look(self, connection: apsw.Connection) -> None:
        """Look into the file that was opened: it may be another one than that which was made."""
        made, self._made, self._version = self._made, None, None
        if made is not None:
            version, found = _version_and_digest(connection)
            self._version = version if found == made else None

    def begin(self, connection: apsw.Connection) -> None:
        """From now on a change counts as a use; one of another connection has counted as one all the time."""
        if self._version is not None:
            version, found = _version_and_digest(connection)
            self._unused = found if version == self._version else None

    def is_unused(self, connection: apsw.Connection) -> bool:
        """Whether the file was made here and holds what it held when its use began."""
        with suppress(apsw.Error):
            return self._unused is not None and _version_and_digest(connection)[1] == self._unused
        return False

    def remove(self) -> None:
        """Remove the file, which is closed here, unless somebody else has it open or has changed it.

        Who opens it meanwhile waits for that, sees that it is gone, and makes the next one (`connections`).
        """
        # a connection of its own: one that has read the file before would look at what it remembers
        with suppress(apsw.Error, OSError), closing(connected(self._path, apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(0)  # who has it open uses it
            connection.execute("pragma locking_mode = exclusive").fetchall()
            # in the mode of a log the first look takes a lock that excludes everybody, and is kept
            if _digest(_bytes_of(connection)) != self._unused:
                return
            # removes the log now: at the close it would be removed by its name, which may be that of the next file's by then
            connection.execute("pragma journal_mode = memory").fetchall()
            self._path.unlink()
        remove_folder(self._path)


def _version_and_digest(connection: apsw.Connection) -> tuple[int, str]:
    """The version of the data of a file, which changes when another connection writes, and the digest of what it holds."""
    with connection:
        version, image = int(connection.pragma("data_version")), _bytes_of(connection)
    return version, _digest(image)


def _bytes_of(connection: apsw.Connection) -> bytes:
    """The file of a connection; SQLite would write a first page into an empty one to give that."""
    return (connection.serialize("main") or b"") if connection.pragma("page_count") else b""


def _digest(image: bytes) -> str:
    """The SHA-256 (hex) of a file without its header, which changes with the mode of its log."""
    return hashlib.sha256(memoryview(image)[_HEADER_BYTES:]).hexdigest()
