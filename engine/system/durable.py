"""Files on disk, in folders held open: opening one never waits for a pipe, replacing one is atomic, also in a crash."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter
from pathlib import Path

from engine.errors import Conflict, EngineError, PermissionDenied
from engine.system.descriptors import MAKING, open_to_read

_TEMPORARY = re.compile(r"\.engine-[0-9a-f]{16}\.tmp")


@contextmanager
def held_folder(root: Path, parts: Sequence[str] = (), *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder `parts` under `root`, for file operations that nobody can lead elsewhere meanwhile.

    Each part is opened in the one before, and links are not followed. With `make` missing folders are made, each synced to
    disk before the next. Raises `OSError` where a part is missing, a link or no folder.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(root, flags)
    try:
        for part in parts:
            try:
                below = os.open(part, flags, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
                sync(folder)
                below = os.open(part, flags, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def open_regular(name: str, folder: int) -> BufferedReader:
    """Open a regular file in a held folder for reading; raise `OSError` at once for a pipe, device, folder or symlink.

    A database that this process has open is refused as well (`descriptors`).
    """
    descriptor = open_to_read(name, os.O_NOFOLLOW | os.O_NONBLOCK, folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, "it is not a regular file")
    return open(descriptor, "rb")


def file_hash(name: str, folder: int) -> str | None:
    """The SHA-256 (hex) of a file's bytes, None when there is no file; `OSError` when it cannot be read."""
    try:
        with open_regular(name, folder) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def text_of(data: bytes) -> str | None:
    """The bytes decoded as UTF-8; None for binary ones.

    Bytes with a NUL count as binary, because SQLite's text functions stop at a NUL.
    """
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


@contextmanager
def temporary_beside(
    name: str, folder: int, data: bytes, mode: int | None = None, *, executable: bool | None = None
) -> Iterator[str]:
    """The name of a file beside `name` in a held folder that holds `data`, synced to disk; removed at the end.

    It has the permissions of `name`, where that exists, without its set-uid and set-gid bits; `mode` overrides them, and
    `executable` says whether who may read it may execute it.
    """
    _remove_leftovers(folder)
    with suppress(FileNotFoundError):
        found = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode) & 0o777
        mode = _switched(found, executable) if mode is None else mode
        if not os.access(name, os.W_OK, dir_fd=folder, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, "the file is read-only")
    ordinary = _switched(0o666, executable) if mode is None else mode
    place, file = _new_temporary(folder, ordinary)
    try:
        with file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            yield place
    finally:
        with suppress(FileNotFoundError):
            os.unlink(place, dir_fd=folder)


def has_mode(name: str, folder: int, executable: bool | None) -> bool:
    """Whether the owner of a file may execute it as `executable` says; True where that says nothing."""
    if executable is None:
        return True
    with suppress(FileNotFoundError):
        return bool(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & stat.S_IXUSR) == executable
    return False


def _switched(mode: int, executable: bool | None) -> int:
    """Permissions with the right to execute for whoever may read, or for nobody; the same where `executable` is None."""
    if executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def _new_temporary(folder: int, mode: int) -> tuple[str, BufferedWriter]:
    """The name of a new temporary file in a held folder, and the file, which is locked until it is closed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        place = f".engine-{os.urandom(8).hex()}.tmp"
        file = open(os.open(place, flags, mode, dir_fd=folder), "wb")  # noqa: SIM115 - the caller closes it
        with suppress(OSError):  # there are file systems without locks
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return place, file
        file.close()  # before it was locked, another thread or process took it for a leftover


def _remove_leftovers(folder: int) -> None:
    """Remove the temporary files in a folder that no process has locked: a killed process left them."""
    for name in os.listdir(folder):
        if _TEMPORARY.fullmatch(name):
            # a thread may just give its temporary file the name of a database: no descriptor of that is closed afterwards
            with suppress(OSError), MAKING, open_regular(name, folder) as file:
                if _try_lock(file.fileno()):
                    os.unlink(name, dir_fd=folder)


def _try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False where another process holds the lock or there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync(folder: int) -> None:
    """Sync the names in a held folder to disk, where the file system can."""
    # Not every file system can sync a folder, and the file itself has been written.
    with suppress(OSError):
        os.fsync(folder)


def real_path(place: str | Path) -> str:
    """The path of `place` without links. Where a link in it is replaced while it is read, it is `place` itself: whoever
    opens that follows no link (`held_folder`).
    """
    try:
        return os.path.realpath(place)
    except OSError:
        return str(place)


def replace_file(path: str | os.PathLike[str], data: bytes, mode: int | None = None) -> None:
    """Put a file that holds `data` in the place of `path`, in one step and synced to disk; raises `OSError`."""
    place = Path(os.path.realpath(path))
    with held_folder(place.parent) as folder, temporary_beside(place.name, folder, data, mode) as temporary:
        os.replace(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        sync(folder)


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
        raise EngineError(f"cannot {action} {path!r}: {error.strerror}; the file was not changed") from error
