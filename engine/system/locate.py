"""Finds the default database of a command: `.engine/engine.db` of the current folder or of the nearest folder above it.

spec: @locating
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from engine.errors import EngineError, NotFound, PermissionDenied

FOLDER = ".engine"
FILE = "engine.db"


def find_database(start: Path) -> Path | None:
    """The `.engine/engine.db` of `start`, or of the nearest folder above that has one; None where there is none.

    A file in a folder above counts only where no other user can have written it, and no link leads to it. Raises
    `PermissionDenied` (403) where the `.engine` of `start`, or the file in it, is a symbolic link: a folder from elsewhere
    would have its runs written into another project's file.
    """
    here = start.absolute() / FOLDER / FILE
    if link := _link(here):
        raise PermissionDenied(
            f"{link}: is a symbolic link to {str(os.readlink(link))!r}; links are followed only if you give the "
            "path with --db PATH"
        )
    if here.is_file():
        return here
    return next((path for path in _above(start) if danger_of(path) is None), None)


def passed_over(start: Path) -> list[str]:
    """Why files in folders above `start` are not used, a sentence for each file that is nearer than the one that is used."""
    reasons: list[str] = []
    if (start.absolute() / FOLDER / FILE).is_file():
        return reasons
    for path in _above(start):
        reason = danger_of(path)
        if reason is None:
            break
        reasons.append(f"{path} {reason} and is passed over")
    return reasons


def _above(start: Path) -> Iterator[Path]:
    found = (folder / FOLDER / FILE for folder in start.absolute().parents)
    return (path for path in found if path.is_file())


def _link(path: Path) -> Path | None:
    """The database or its folder, where one of them is a symbolic link."""
    return next((each for each in (path.parent, path) if each.is_symlink()), None)


def danger_of(path: Path) -> str | None:
    """Why another user may have written the file at `path`, as the end of a sentence about it; None where none can have."""
    try:
        folder, file = path.parent.stat(), path.stat()
        owners = {found.st_uid for found in (folder, file, path.parent.lstat(), path.lstat())}
    except OSError:
        return "cannot be looked at"
    if _link(path):
        return "is behind a symbolic link"
    if owners != {os.geteuid()}:
        return "belongs to another user"
    # others can reach the file only where its folder is executable for them
    let_in = 0o020 * bool(folder.st_mode & 0o010) | 0o002 * bool(folder.st_mode & 0o001)
    if folder.st_mode & 0o022 or file.st_mode & let_in:
        return "can be written by others"
    return None


def database_to_read(given: Path | None, start: Path) -> Path:
    """The file to read: `given`, else the nearest one; raises `NotFound` (404) where there is none."""
    if given is not None:
        if not given.exists():
            raise NotFound(f"{given}: there is no such database; to create it: engine run --db {given} PROMPT")
        return given
    found = find_database(start)
    if found is None:
        reasons = "".join(f"{reason}; " for reason in passed_over(start))
        raise NotFound(
            f"no database in {str(start.absolute())!r} or a folder above it; {reasons}"
            "'engine run PROMPT' creates a database; --db PATH uses another one"
        )
    return found


def database_to_write(given: Path | None, start: Path) -> Path:
    """The file to write to: `given`, else the nearest one, else a new one in `start`, which `make_folder` prepares."""
    return given or find_database(start) or start.absolute() / FOLDER / FILE


def remove_folder(path: Path) -> None:
    """Remove the folder `.engine` of a database that is gone, where nothing else is in it."""
    with suppress(OSError):
        if path.parent.name == FOLDER and [each.name for each in path.parent.iterdir()] == [".gitignore"]:
            (path.parent / ".gitignore").unlink()
            try:
                path.parent.rmdir()
            except OSError:  # another process has just made the next database in it
                _ignore(path.parent)


def make_folder(path: Path) -> None:
    """Make the `.engine` folder of the default database `path`, with mode 0700 and a `.gitignore` of all in it.

    Does nothing for a database in another folder or where the folder exists. Raises `EngineError` where the folder cannot
    be made: 403 where it may not be, else 500.
    """
    folder = path.parent
    if folder.name != FOLDER or folder.exists():
        return
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _ignore(folder)
    except OSError as error:
        status = 403 if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else 500
        raise EngineError(
            f"cannot create {str(folder)!r}: {error.strerror}; choose a file in another folder with --db PATH",
            status,
        ) from error


def _ignore(folder: Path) -> None:
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
