"""Opens files without taking away the locks of databases that this process has open.

POSIX gives up all locks of a process on a file as soon as the process closes any descriptor of that file, SQLite's too. The
next other process that closes such a database then takes itself for the last one and removes the log: what is committed
after that is lost. So the engine reads the header of a database through SQLite's own layer, which knows its locks, and opens
no file that is a database in use.

spec: @locks
"""

from __future__ import annotations

import errno
import fcntl
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

if hasattr(os, "register_at_fork"):  # no process is forked with it held by a thread that is not there
    os.register_at_fork(before=MAKING.acquire, after_in_parent=MAKING.release, after_in_child=MAKING.release)

_LOOKS = 3
"""How often a descriptor is looked at before it counts as SQLite's."""
_kept: dict[int, tuple[int, int]] = {}
"""Device and inode of descriptors that cannot be closed."""


def open_to_read(place: str | Path, flags: int = 0, folder: int | None = None) -> int:
    """A descriptor for reading, opened with `flags`, in the held folder where one is given.

    Raises `OSError`; of a database that this process has open elsewhere, or the -shm file of one, EBUSY.
    """
    if _kept and _is_kept(place, folder):
        raise _busy(place)
    # O_NONBLOCK is the mark of those that were opened here, SQLite sets it nowhere
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags, dir_fd=folder)
    if _is_locked(descriptor):
        for other in list(_kept):
            _let_go(other)
        status = os.fstat(descriptor)
        _kept[descriptor] = (status.st_dev, status.st_ino)
        raise _busy(place)
    return descriptor


def _is_locked(descriptor: int) -> bool:
    try:
        head = os.pread(descriptor, len(MAGIC), 0)
    except OSError:  # a folder, a pipe: SQLite has no locks there
        return False
    try:
        return head.startswith(_HEADS) and _is_open_elsewhere(os.fstat(descriptor))
    except OSError:  # no descriptor is left to look with; it is closed when one is
        return True


def _is_kept(place: str | Path, folder: int | None) -> bool:
    """Whether `place` is a file of a kept descriptor, and still open elsewhere."""
    with suppress(OSError):
        status = os.stat(place, dir_fd=folder)
        identity = (status.st_dev, status.st_ino)
        for other, kept in list(_kept.items()):
            if kept == identity:
                _let_go(other)
        return identity in _kept.values()
    return False


def _let_go(kept: int) -> None:
    """Close a kept descriptor of a file that nothing else has open any more."""
    with suppress(OSError):  # another thread may have closed it in the meantime
        if not _is_open_elsewhere(os.fstat(kept)) and _kept.pop(kept, None) is not None:
            os.close(kept)


def _is_open_elsewhere(status: os.stat_result) -> bool:
    """Whether a file is open by a descriptor that was not opened here: another thread may be reading it."""
    return any(_is_foreign(int(name), status) for name in os.listdir(_OWN))


def _is_foreign(descriptor: int, status: os.stat_result) -> bool:
    """Whether a descriptor is of this file, and was not opened here.

    Another thread may close its file between two looks, and the number goes to something else. SQLite keeps what it has.
    """
    try:
        return all(os.path.samestat(os.fstat(descriptor), status) and not _is_ours(descriptor) for _ in range(_LOOKS))
    except OSError:  # it was closed meanwhile
        return False


def _is_ours(descriptor: int) -> bool:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    return bool(flags & os.O_NONBLOCK) and flags & os.O_ACCMODE == os.O_RDONLY


def _busy(place: str | Path) -> OSError:
    return OSError(errno.EBUSY, "this process has it open as a database", str(place))
