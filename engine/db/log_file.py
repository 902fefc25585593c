"""How much of a database's log is not in the file yet, and which processes keep it there.

SQLite moves the log (FILE-wal) into the file only as far as no reader needs the file as it was. A reader that never ends its
transaction lets the log grow without an end. What is looked at here is the index beside the log (FILE-shm), in the format
that SQLite documents (sqlite.org/walformat.html), and who holds its locks; nothing is opened as a database or changed.

spec: @kept_log
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.system.descriptors import open_to_read

LONG = 16 << 20
"""Bytes that may wait without anybody being told: four times what SQLite moves by itself."""
_HEAD = struct.Struct(
    "=12xBBHI76xI5I"
)  # is initialized, order of checksums, size of a page, frames; moved, marks of readers
_MARKS = 123
"""The first of the five bytes of the index that readers lock."""
_LOCK = struct.Struct("hhqqi4x")


@dataclass(frozen=True)
class LogFile:
    """`size` is that of the log in bytes, `waiting` what of it is not in the file yet, and `readers` the processes that read
    the file as it was before that; they may be unknown.
    """

    size: int
    waiting: int
    readers: tuple[int, ...] = ()

    @property
    def is_held_back(self) -> bool:
        """Whether so much waits that a person should know."""
        return self.waiting > LONG

    def told(self) -> str:
        """What holds it back, as a sentence without an end."""
        by = ", ".join(f"process {number} ({_name(number)})" for number in self.readers) or "a process"
        return (
            f"{self.waiting / 1e6:.0f} MB of the log cannot be moved into the file, because {by} reads an older state"
        )


def log_of(place: Path) -> LogFile:
    """The log beside the database at `place`. Where the index cannot be read, all of the log counts as waiting."""
    try:
        size = os.stat(f"{place}-wal").st_size
    except OSError:
        return LogFile(0, 0)
    with suppress(OSError, struct.error):
        descriptor = open_to_read(f"{place}-shm")
        try:
            return _looked_into(descriptor, size)
        finally:
            os.close(descriptor)
    return LogFile(size, size)


def _looked_into(index: int, size: int) -> LogFile:
    is_ready, _, page, frames, moved, *marks = _HEAD.unpack(os.pread(index, _HEAD.size, 0))
    if not is_ready:
        return LogFile(size, 0)
    waiting = max(frames - moved, 0) * (65_536 if page == 1 else page)
    old = [place for place, mark in enumerate(marks) if mark < frames]
    readers = dict.fromkeys(number for place in old if (number := _holder(index, _MARKS + place)))
    return LogFile(size, waiting, tuple(readers) if waiting else ())


def _holder(index: int, byte: int) -> int:
    """The process that holds a lock on this byte; 0 where none does, or where that cannot be asked."""
    if sys.platform != "linux":
        return 0
    asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    kind, _, _, _, number = _LOCK.unpack(fcntl.fcntl(index, fcntl.F_GETLK, asked))
    return int(number) if kind != fcntl.F_UNLCK else 0


def _name(number: int) -> str:
    try:
        return Path(f"/proc/{number}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "gone"
