"""The folder in which an export is made, beside its target; one that a killed export has left is removed by the next.

Whoever makes an export holds a lock on its folder. The system gives the lock back if the process is killed.

spec: @export
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".engine-export-"


@contextmanager
def making(beside: Path) -> Iterator[Path]:
    """An empty folder that is locked, gone at the end with what is left in it."""
    place, descriptor = _locked(beside)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(descriptor)


def _locked(beside: Path) -> tuple[Path, int]:
    while True:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
        descriptor = _opened(place)
        with suppress(OSError):  # there are file systems without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if place.exists():
            return place, descriptor
        os.close(descriptor)  # before it was locked, another process took it for a leftover


def remove_left(beside: Path) -> None:
    """Remove the folders of this user's exports that were killed; those that somebody makes now stay."""
    for place in sorted(beside.glob(f"{PREFIX}*")):
        with suppress(OSError):
            descriptor = _opened(place)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.geteuid():
                    shutil.rmtree(place)
            finally:
                os.close(descriptor)


def _opened(place: Path) -> int:
    """The folder itself; a link to one is none."""
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
