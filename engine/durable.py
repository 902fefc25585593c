"""Files on disk: opening one never waits for a pipe, and replacing one is atomic, also in a crash."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from engine.errors import Conflict, EngineError, PermissionDenied

_TEMPORARY = re.compile(r"\.engine-[0-9a-f]{16}\.tmp")


def open_regular(place: Path) -> BufferedReader:
    """Open a regular file for reading; raise `OSError` at once for a pipe, device, folder or symlink."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, "it is not a regular file")
    return open(descriptor, "rb")


def file_hash(place: Path) -> str | None:
    """The SHA-256 (hex) of a file's bytes, None when there is no file; `OSError` when it cannot be read."""
    try:
        with open_regular(place) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def temporary_beside(target: Path, data: bytes) -> Iterator[Path]:
    """A file next to `target` that holds `data`, synced to disk, with the mode of `target`; removed at the end."""
    _make_folder(target.parent)
    _remove_leftovers(target.parent)
    mode = None
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(target.stat().st_mode)
        if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, "the file is read-only")
    place = target.parent / f".engine-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(place, flags, 0o666 if mode is None else mode & 0o777), "wb") as file:
            _try_lock(file.fileno())
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            yield place
    finally:
        place.unlink(missing_ok=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files in a folder that no process has locked: a killed process left them."""
    for name in os.listdir(folder):
        if _TEMPORARY.fullmatch(name):
            with suppress(OSError), open_regular(folder / name) as file:
                if _try_lock(file.fileno()):
                    (folder / name).unlink()


def _try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False where another process holds the lock or there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _make_folder(folder: Path) -> None:
    """Make a folder and the missing folders above it; each is synced to disk before the next is made."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, where the file system can."""
    # Not every file system can sync a folder, and the file itself has been written.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def system_errors(action: str, path: str) -> Iterator[None]:
    """Turn an `OSError` of `action` on `path` into `PermissionDenied` (403), `Conflict` (409) or `EngineError` (500)."""
    try:
        yield
    except PermissionError as error:
        message = f"cannot {action} {path!r}: {error.strerror}; change the mode or owner"
        raise PermissionDenied(message) from error
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise Conflict(f"cannot {action} {path!r}: {error.strerror}; choose another path") from error
    except OSError as error:
        raise EngineError(f"cannot {action} {path!r}: {error.strerror}; the file is as it was") from error
