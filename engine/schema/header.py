"""Refuses a file that is not the engine's by its first 100 bytes, before SQLite reads more of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw

from engine.errors import Conflict, EngineError, ValidationError
from engine.schema.build import APPLICATION_ID, VERSION
from engine.system.descriptors import MAGIC

_TRIES = 3
"""How often a file is opened that cannot be opened and yet is there: another process may have made it between the two."""
_BESIDE = ("-wal", "-shm", "-journal")
"""What the names of the files end in that SQLite keeps beside a database."""


def check_header(path: Path, *, read_only: bool = False) -> None:
    """Refuse a file that is not the engine's, by its first 100 bytes.

    Raises `ValidationError` (400) for a folder, a pipe or a file that is no SQLite database, or a link where SQLite keeps
    files beside it, `Conflict` (409) for one of another application or, unless it is only to be read, of a newer engine.
    """
    if _is_folder(path):
        raise ValidationError(f"{path}: is a folder; name a database file, such as {path / 'engine.db'}")
    beside = [Path(f"{os.path.realpath(path)}{ending}") for ending in _BESIDE]
    for each in (path, *beside):
        # to open a pipe waits for its other end
        if _is_special(each):
            raise ValidationError(f"{each}: is not a regular file; remove it, or use another database")
    for each in beside:
        if each.is_symlink():
            raise ValidationError(f"{each}: is a symbolic link, whose target would be overwritten; remove the link")
    header = _head(path)
    if not header:
        return
    if len(header) < 100 or not header.startswith(MAGIC):
        raise ValidationError(f"{path}: is not a database, and was not changed")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise another_application(path)
    if not read_only:
        # prepare() finds a version that is only in the write-ahead log yet
        refuse_newer(path, int.from_bytes(header[60:64], "big"), VERSION)


def _head(path: Path) -> bytes:
    """The first 100 bytes of a file, empty where there is none. It is SQLite's own layer that opens and closes it: closed by
    anything else, the file would lose the locks that this process has on it (`descriptors`).
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            file = apsw.VFSFile("", os.path.realpath(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
            try:
                return file.xRead(100, 0)
            finally:
                file.xClose()
        except apsw.Error as error:
            if not path.exists():
                return b""
            if not tries_left:
                raise EngineError(f"{path}: cannot be read; check its permissions", 403) from error
    raise AssertionError("the last try returns or raises")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EngineError(f"{str(path)[:200]}: cannot be opened ({error.strerror}); give another path", 403) from error


def _is_special(path: Path) -> bool:
    """Whether something is there that is no regular file. It is looked at once: a log goes when its last reader does."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def refuse_newer(file: str | Path, version: int, known: int) -> None:
    """Raise `Conflict` (409) for a file of a version that is not known yet."""
    if version > known:
        raise Conflict(
            f"{file}: was written by a newer engine (version {version}, this one knows {known}); update the engine"
        )


def refuse_older(file: str | Path, version: int, oldest: int) -> None:
    """Raise `Conflict` (409) for a file whose tables are older than any that this engine can bring up to date."""
    if 0 < version < oldest:
        raise Conflict(
            f"{file}: has tables of version {version}, from before the first release; this engine reads version "
            f"{oldest} and later. Start a new file: --db NEW.db, or engine.open('NEW.db') in Python"
        )


def another_application(file: str | Path) -> Conflict:
    """The error for a file that is a database of another application."""
    return Conflict(
        f"{file}: is a database of another application, and was not changed; choose another file, or use engine.attach()"
    )
