"""The user's own folders: the cache, the configuration, the state, and that of temporary files."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import EngineError
from engine.system.descriptors import open_to_read

LOCK_SECONDS = 15.0
"""How long the lock of a file is waited for."""
_TICK_SECONDS = 0.02
_HASH_BYTES = 32
_MOST_BYTES = 1 << 20
"""A file that a person writes by hand is not longer."""
_SOCKET_BYTES = 103
"""What the path of a Unix socket may take: macOS has room for 104 bytes with the one that ends it, Linux for 108."""
_LONGEST_SOCKET = "/engine-local-12345678/socket.sock"
"""What the longest of the engine's own adds to its folder."""
_SHORT = "/tmp"  # noqa: S108 - what is made in it is a folder with mode 0700


def home_folder() -> Path:
    """The user's home; `/` for a user that the system does not know, as in a container started under any number."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def temporary_folder() -> str:
    """The folder for temporary files; raises `EngineError` (500) where none can be written."""
    import tempfile  # slow to import, and seldom needed

    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise EngineError("no folder for temporary files is writable; set TMPDIR to a writable folder") from None


def socket_folder() -> str:
    """The folder for temporary files, or /tmp where its name is too long for a Unix socket in it.

    Raises `EngineError` (500) where neither can be used.
    """
    folder = temporary_folder()
    if len(os.fsencode(folder + _LONGEST_SOCKET)) <= _SOCKET_BYTES:
        return folder
    if os.access(_SHORT, os.W_OK | os.X_OK):
        return _SHORT
    raise EngineError(f"{folder}: the path is too long for a Unix socket; set TMPDIR to a folder with a shorter path")


def cache_folder() -> Path:
    """The folder of files that can be made again: `$ENGINE_CACHE`, `$XDG_CACHE_HOME/engine` or `~/.cache/engine`."""
    if folder := os.environ.get("ENGINE_CACHE"):
        return Path(folder)
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "engine"
    return home_folder() / ".cache" / "engine"


def config_folder() -> Path:
    """The folder of the user's decisions: `$XDG_CONFIG_HOME/engine` or `~/.config/engine`."""
    if folder := os.environ.get("XDG_CONFIG_HOME"):
        return Path(folder) / "engine"
    return home_folder() / ".config" / "engine"


def state_folder() -> Path:
    """The folder of what this user's engine notes by itself: `$XDG_STATE_HOME/engine` or `~/.local/state/engine`."""
    if folder := os.environ.get("XDG_STATE_HOME"):
        return Path(folder) / "engine"
    return home_folder() / ".local" / "state" / "engine"


def is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read_own(place: Path) -> bytes | None:
    """The bytes of a file; None where it is missing, or another user may write it or its folder."""
    try:
        if not is_own(place.parent.stat()):
            return None
        descriptor = open_to_read(place, os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            return file.read() if stat.S_ISREG(found.st_mode) and is_own(found) else None
    except OSError:
        return None


def look_at(place: Path, *, private: bool = False, shared: bool = False) -> tuple[bytes | None, str | None]:
    """The bytes of a file of this user, and why it is not read, as the end of a sentence; both None where there is none.

    A symbolic link, a file of another user, and one that others may write are not read; with `private` neither is one that
    others may read, with `shared` the group may write it.
    """
    try:
        descriptor = open_to_read(place, os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):  # a folder .env holds programs of Python
                return None, None
            if reason := _objection(found, 0o077 if private else 0o002 if shared else 0o022):
                return None, reason
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(_MOST_BYTES), None
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as error:
        return None, "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"


def _objection(found: os.stat_result, closed: int) -> str | None:
    """Why a file is not read where others must not have the rights `closed`; None where it may be."""
    if not stat.S_ISREG(found.st_mode):
        return "is no file"
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    if found.st_mode & closed:
        return f"can be {'written' if found.st_mode & 0o022 & closed else 'read'} by others; chmod 600"
    return "is longer than a megabyte" if found.st_size > _MOST_BYTES else None


def make_private(folder: Path) -> None:
    """Make a folder of this user and the missing ones above it, each with mode 0700; raises `OSError`."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_own(place: Path, data: bytes) -> None:
    """Replace a file of this user atomically, with mode 0600; raises `OSError` where that cannot be done."""
    make_private(place.parent)
    if not is_own(place.parent.stat()):
        raise PermissionError(f"{place.parent}: belongs to another user, or may be written by others")
    temporary = place.with_name(f".{place.name}.{os.getpid()}-{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def own_lock(place: Path) -> Iterator[None]:
    """Hold the lock beside a file of this user while it is read and replaced.

    Raises `OSError`, also where another process, which may be suspended, keeps it for longer than `LOCK_SECONDS`.
    """
    make_private(place.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(place.with_name(f".{place.name}.lock"), flags, 0o600), "r+b") as file:
        _lock(file.fileno(), place)
        yield


def _lock(descriptor: int, place: Path) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                said = "another engine process keeps it locked; let it go on, or end it"
                raise TimeoutError(errno.ETIMEDOUT, said, str(place)) from None
        time.sleep(_TICK_SECONDS)


def read_cached(place: Path) -> bytes | None:
    """What `write_cached` put at `place`; None where it is missing or damaged, or another user may have written it."""
    data = read_own(place)
    if data is None or hashlib.sha256(data[_HASH_BYTES:]).digest() != data[:_HASH_BYTES]:
        return None
    return data[_HASH_BYTES:]


def write_cached(place: Path, data: bytes, keep: int) -> None:
    """Put `data` behind its hash at `place` and remove all but the newest `keep` files of that folder that end alike.

    It does nothing where the folder cannot be written.
    """
    with suppress(OSError):
        write_own(place, hashlib.sha256(data).digest() + data)
        there = sorted(place.parent.glob(f"*{place.suffix}"), key=lambda each: each.stat().st_mtime)
        for old in there[:-keep]:
            old.unlink(missing_ok=True)
