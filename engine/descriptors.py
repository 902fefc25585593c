"""Opens files without taking away the locks of databases that this process has open.

POSIX gives up all locks of a process on a file as soon as the process closes any descriptor of that file, SQLite's too. The
next other process that closes such a database then takes itself for the last one and removes the log: what is committed
after that is lost. So the engine reads the header of a database through SQLite's own layer, which knows its locks, and opens
no file that is a database in use.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

MAGIC = b"SQLite format 3\x00"
"""The first bytes of a database."""
_HEADS = (MAGIC, (3_007_000).to_bytes(4, sys.byteorder))
"""The first bytes of the files on which SQLite holds locks: a database, and the -shm file beside one."""
_OWN = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"

MAKING = threading.Lock()
"""Held while a new database has its name already, and a descriptor of it is still to be closed."""

_kept: dict[tuple[int, int], int] = {}
"""Descriptors that cannot be closed, by device and inode."""


def open_to_read(place: str | Path, flags: int = 0, folder: int | None = None) -> int:
    """A descriptor for reading, opened with `flags`, in the held folder where one is given.

    Raises `OSError`; of a database that this process has open elsewhere, or the -shm file of one, EBUSY.
    """
    if _kept and _is_kept(place, folder):
        raise _busy(place)
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=folder)
    if _is_locked(descriptor):
        for other in list(_kept):
            _let_go(other)
        status = os.fstat(descriptor)
        _kept[(status.st_dev, status.st_ino)] = descriptor
        raise _busy(place)
    return descriptor


def _is_locked(descriptor: int) -> bool:
    try:
        head = os.pread(descriptor, len(MAGIC), 0)
    except OSError:  # a folder, a pipe: SQLite has no locks there
        return False
    return head.startswith(_HEADS) and _is_open_elsewhere(os.fstat(descriptor), descriptor)


def _is_kept(place: str | Path, folder: int | None) -> bool:
    """Whether `place` is a file of a kept descriptor, and still open elsewhere."""
    with suppress(OSError):
        status = os.stat(place, dir_fd=folder)
        identity = (status.st_dev, status.st_ino)
        _let_go(identity)
        return identity in _kept
    return False


def _let_go(identity: tuple[int, int]) -> None:
    """Close the kept descriptor of a file that nothing else has open any more."""
    with suppress(OSError):  # another thread may have closed it in the meantime
        kept = _kept.get(identity)
        if kept is not None and not _is_open_elsewhere(os.fstat(kept), kept) and _kept.pop(identity, None) == kept:
            os.close(kept)


def _is_open_elsewhere(status: os.stat_result, besides: int) -> bool:
    for name in os.listdir(_OWN):
        with suppress(OSError):
            if int(name) != besides and os.path.samestat(os.fstat(int(name)), status):
                return True
    return False


def _busy(place: str | Path) -> OSError:
    return OSError(errno.EBUSY, "this process has it open as a database", str(place))
