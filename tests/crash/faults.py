"""A disk that fails at a chosen call, as a VFS of SQLite: an error, no room, half a write, a power cut, a sync that lies.

What is on the disk is what was synced. What was written since then is kept in a list, and a power cut decides how much of
it has arrived: nothing, a beginning, any part of it, or half of the last write.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from engine.db import log_sync

NAME = "faults"
BASE = "unix"
SECTOR = 512

ERRORS = ("error", "full", "short", "read")
"""The process goes on, or tries to."""
CUTS = ("cut", "some", "torn")
"""The power goes; what was synced is there."""
LIES = ("lying",)
"""The power goes, and no sync did anything; what was written first has arrived first."""


@dataclass(frozen=True)
class Fault:
    """What happens at the call number `at` (from 1) of those that count: reads for `read`, all that change the disk else."""

    kind: str
    at: int
    seed: int = 0


@dataclass
class Change:
    """A write (`data` at `offset`), a truncation to `offset` (`data` is None), or a removal (`offset` is None)."""

    path: str
    offset: int | None
    data: bytes | None


@dataclass
class Disk:
    """The files of a folder as they would be after a power cut, and the fault that is ahead."""

    folder: Path
    fault: Fault | None = None
    calls: int = 0
    reads: int = 0
    has_failed: bool = False
    is_dead: bool = False
    durable: dict[str, bytearray] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        for path in self.folder.iterdir():
            if path.is_file():
                self.durable[str(path)] = bytearray(path.read_bytes())

    def is_here(self, path: str) -> bool:
        """Whether a file is one of this disk; the index beside a log (-shm) is memory."""
        return os.path.dirname(path) == str(self.folder) and not path.endswith("-shm")

    def reading(self) -> None:
        """Called before each read."""
        self._expect_power()
        self.reads += 1
        if self.fault and self.fault.kind == "read" and self.reads == self.fault.at:
            self.has_failed = True
            raise apsw.IOError("a sector cannot be read")

    def changing(self, change: Change | None) -> Change | None:
        """Called before each change, None is a sync; returns what of it is to be done before `failed` is asked."""
        self._expect_power()
        self.calls += 1
        fault = self.fault
        if fault is None or fault.kind == "read":
            return change
        if fault.kind == "full" and self.has_failed and change is not None and change.data is not None:
            raise apsw.FullError("the disk is full")
        if self.calls != fault.at:
            return change
        self.has_failed = True
        if fault.kind == "error":
            raise apsw.IOError("the disk fails")
        if fault.kind == "full" and change is not None and change.data is not None:
            raise apsw.FullError("the disk is full")
        if fault.kind == "short":
            return self._half(change)
        if fault.kind in (*CUTS, *LIES):
            if fault.kind == "torn" and (half := self._half(change)) is not None:
                self.pending.append(half)
            self.is_dead = True
            self._expect_power()
        return change

    def failed(self) -> None:
        """Called after each change: half a write is told as an error."""
        if self.fault and self.fault.kind == "short" and self.calls == self.fault.at:
            raise apsw.FullError("the disk was full in the middle of a write")

    def done(self, change: Change) -> None:
        """A change has gone to the system, which keeps it."""
        self.pending.append(change)

    def synced(self, path: str) -> None:
        """What was written to a file is on the disk now, unless the disk lies."""
        if self.fault and self.fault.kind in LIES:
            return
        for change in [each for each in self.pending if each.path == path]:
            self._apply(change)
        self.pending = [each for each in self.pending if each.path != path]

    def after_power_cut(self) -> None:
        """Lay the files out as they are when the power is back."""
        assert self.fault is not None, "something has failed"
        chance = random.Random(f"{self.fault}")
        if self.fault.kind in LIES:
            self.pending = self.pending[: chance.randrange(len(self.pending) + 1)]
        elif self.fault.kind == "cut":
            self.pending = []
        elif self.fault.kind == "some":
            self.pending = [each for each in self.pending if chance.random() < 0.5]
        for change in self.pending:
            self._apply(change)
        for path in self.folder.iterdir():
            if path.is_file():
                path.unlink()
        for name, content in self.durable.items():
            Path(name).write_bytes(content)

    def _apply(self, change: Change) -> None:
        if change.offset is None:
            self.durable.pop(change.path, None)
            return
        content = self.durable.setdefault(change.path, bytearray())
        if change.data is None:
            del content[change.offset :]
            return
        if len(content) < change.offset:
            content.extend(bytes(change.offset - len(content)))
        content[change.offset : change.offset + len(change.data)] = change.data

    def _half(self, change: Change | None) -> Change | None:
        if change is None or change.data is None:
            return None
        length = max(len(change.data) // 2 // SECTOR * SECTOR, min(len(change.data) - 1, SECTOR))
        return Change(change.path, change.offset, change.data[: max(length, 0)])

    def _expect_power(self) -> None:
        if self.is_dead:
            raise apsw.IOError("the power is off")


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._counts = disk.is_here(self._path)
        super().__init__(BASE, name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        if self._counts:
            self._disk.reading()
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:
        if not self._counts:
            super().xWrite(data, offset)
            return
        change = self._disk.changing(Change(self._path, offset, bytes(data)))
        if change is not None and change.data is not None:
            super().xWrite(change.data, offset)
            self._disk.done(change)
        self._disk.failed()

    def xTruncate(self, newsize: int) -> None:
        if self._counts and (change := self._disk.changing(Change(self._path, newsize, None))):
            self._disk.done(change)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        if self._counts:
            self._disk.changing(None)
            self._disk.synced(self._path)
        super().xSync(flags)


class Faults(apsw.VFS):
    """The VFS of a disk, which is the default as long as `inserted` lasts."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__(NAME, BASE)

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        if self._disk.is_here(filename):
            change = self._disk.changing(Change(filename, None, None))
            super().xDelete(filename, syncdir)
            if change is not None:
                self._disk.done(change)
            self._disk.synced(filename)
            return
        super().xDelete(filename, syncdir)


@contextmanager
def inserted(disk: Disk) -> Iterator[Disk]:
    """While connections of this process are on the disk; threads of an engine synchronize its log by a descriptor."""
    before, synchronize = apsw.vfs_names()[0], log_sync._synchronize

    def sync(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        try:
            disk.changing(None)
        except apsw.Error as error:
            raise OSError(5, str(error)) from None
        disk.synced(path)
        synchronize(descriptor)

    vfs = Faults(disk)
    apsw.set_default_vfs(NAME)
    log_sync._synchronize = sync
    try:
        yield disk
    finally:
        log_sync._synchronize = synchronize
        apsw.set_default_vfs(before)
        vfs.unregister()
