"""Reads many files that have the same schema through one connection, which SQLite has prepared once.

To open an engine file takes 15 ms, nearly all of it for parsing its 700 views and triggers. Files that one build made have
the same schema, byte for byte. So a connection is opened on a file that can be exchanged below it: SQLite is told that the
pages have changed, and its schema and its prepared statements stay valid, because the pages of the schema are the same.

A file counts as still if nobody has it open for writing: it has no log beside it, and was not written for some seconds.

spec: @fleet_sql
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import apsw

_VFS = "engine-still"
_SETTLED_NS = 2_000_000_000
"""A file that was written in the last two seconds is not still: the time of a file may be as coarse."""
_LOGS = ("-wal", "-journal")
_SAME = (slice(0, 24), slice(40, 92))
"""The header of two files with the same schema is the same but for counters and sizes. Bytes 24 to 40 count changes, sizes
and free pages; 92 to 100 are a counter and the version of SQLite.
"""


class State(NamedTuple):
    """What tells that a file was written: its inode, size and time."""

    inode: int
    size: int
    written_ns: int


def still_state(path: str) -> State | None:
    """The state of a file that nobody writes; None for one with a log beside it, or written just now."""
    real = os.path.realpath(path)
    if any(os.path.lexists(real + log) and os.path.getsize(real + log) for log in _LOGS):
        return None
    found = os.stat(real)
    if time.time_ns() - found.st_mtime_ns < _SETTLED_NS:
        return None
    return State(found.st_ino, found.st_size, found.st_mtime_ns)


class StillFile:
    """A read-only file for SQLite whose content is that of another file after each `exchange`."""

    def __init__(self) -> None:
        self._file: apsw.VFSFile | None = None
        self._changes = 0

    def exchange(self, path: str) -> None:
        """Read another file from now on. SQLite's own layer opens it, which keeps the locks of this process on it."""
        self.close()
        self._file = apsw.VFSFile("", os.path.realpath(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
        self._changes += 1

    def close(self) -> None:
        """Close the file that is read."""
        if self._file is not None:
            self._file.xClose()
            self._file = None

    def bytes_at(self, offset: int, amount: int) -> bytes:
        """The bytes of the file as they are."""
        assert self._file is not None
        return self._file.xRead(amount, offset)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - a name of apsw's
        """The bytes for SQLite: a file that is not in WAL mode, whose pages have changed since the last exchange."""
        found = self.bytes_at(offset, amount)
        if offset >= 100:
            return found
        count = (self._changes & 0xFFFFFFFF).to_bytes(4, "big")
        header = bytearray(100)
        header[offset : offset + len(found)] = found[: 100 - offset]
        # the size in the header counts only if the two counters are equal
        counters_agree = header[24:28] == header[92:96]
        header[18:20], header[24:28] = b"\1\1", count
        header[92:96] = count if counters_agree else b"\xff\xff\xff\xff"
        return bytes(header[offset : offset + len(found)]) + found[100 - offset :]

    def xFileSize(self) -> int:  # noqa: N802
        """The size of the file."""
        assert self._file is not None
        return self._file.xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802
        """Nothing: whether somebody wrote meanwhile is seen by the state of the file."""

    def xUnlock(self, level: int) -> None:  # noqa: N802
        """Nothing."""

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        """Nobody writes through this."""
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        """The usual size."""
        return 4096

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        """Nothing is known of the device."""
        return 0

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802, ARG002
        """Nothing is controlled."""
        return False

    def xClose(self) -> None:  # noqa: N802
        """SQLite closes its file."""
        self.close()


class _Vfs(apsw.VFS):
    """Opens the still files of this process by the names that it gave them."""

    def __init__(self) -> None:
        super().__init__(_VFS, "", maxpathname=0)
        self.files: dict[str, StillFile] = {}

    def xOpen(self, name: object, flags: list[int]) -> Any:  # noqa: N802
        """A still file by its name; there is no other file here."""
        named = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        found = self.files.get(os.path.basename(named))
        if found is None:
            raise apsw.CantOpenError(f"{named}: no still file has this name")
        flags[1] = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB
        return found

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        """The name itself."""
        return name

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802, ARG002
        """There are no files beside a still file."""
        return False


@cache
def _vfs() -> _Vfs:
    return _Vfs()


_numbers = itertools.count(1)


class StillConnection:
    """A connection whose file is exchanged; the schema is that of the file at `path`, which it begins with."""

    def __init__(self, path: str) -> None:
        self.file = StillFile()
        self.file.exchange(path)
        self._name = f"still-{next(_numbers)}"
        _vfs().files[self._name] = self.file
        try:
            self.connection = apsw.Connection(self._name, flags=apsw.SQLITE_OPEN_READONLY, vfs=_VFS)
            self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            self.connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            self._page_size = int(self.connection.pragma("page_size"))
            self._ranges = list(_ranges(self.connection))
            self._schema = self._schema_of_file()
        except BaseException:
            self.close()
            raise

    def exchange(self, path: str) -> bool:
        """Read the file at `path` from now on; False if its schema is another one, and it is not to be read."""
        self.file.exchange(path)
        return self._schema_of_file() == self._schema

    def close(self) -> None:
        """Close the connection and its file."""
        _vfs().files.pop(self._name, None)
        if hasattr(self, "connection"):
            self.connection.close()
        self.file.close()

    def _schema_of_file(self) -> tuple[bytes, ...]:
        """The parts of the file that make its schema: of the header what is not counted, and the pages of the schema."""
        header = self.file.bytes_at(0, 100)
        size = self._page_size
        parts = [self.file.bytes_at((first - 1) * size, count * size) for first, count in self._ranges]
        parts[0] = parts[0][100:]  # page 1 begins with the header
        return (*(header[part] for part in _SAME), *parts)


def _ranges(connection: apsw.Connection) -> Iterator[tuple[int, int]]:
    """The pages of the schema as ranges: the first page of each, and how many."""
    rows = connection.execute("select pageno from dbstat where name = 'sqlite_schema' order by pageno")
    first, count = 1, 0
    for (page,) in rows:
        if page == first + count:
            count += 1
        else:
            yield first, count
            first, count = page, 1
    yield first, count


def is_unchanged(path: str, state: State) -> bool:
    """Whether a file that was still is as it was."""
    try:
        return still_state(path) == state
    except OSError:
        return False


__all__ = ["State", "StillConnection", "is_unchanged", "still_state"]
