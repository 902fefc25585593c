"""Copies a database while others write to it, and checks the copy before it gets its name.

spec: @backups
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

import engine
from engine.db.one_state import one_state
from engine.errors import Conflict, EngineError, NotFound
from engine.system.descriptors import MAKING

from .checks import damage

_PAGES = 1_000
"""Pages that are copied before others are told how far it is."""


class Backup(NamedTuple):
    """A copy: where it is, its bytes, how many runs it has, and the SHA-256 of its bytes."""

    file: str
    bytes: int
    runs: int
    sha256: str


def back_up(file: Path, target: Path, on_progress: Callable[[int, int], None] | None = None) -> Backup:
    """Copy the database `file` to `target`, in the state of this moment, whoever writes to it meanwhile.

    `target` is a new file, or a folder, in which the copy gets the file's name and the time (UTC). The copy is checked: its
    pages, foreign keys and invariants. All of it is on the disk before the name is there. `on_progress` gets the pages that
    are copied, and all.

    Raises `NotFound` (404) for a file or a folder that does not exist, `Conflict` (409) if `target` exists, and
    `EngineError` (500) if the copy cannot be written, or is not sound; then no file is left.
    """
    if target.is_dir():
        target = target / f"{file.stem}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}{file.suffix}"
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target}: exists already; name a new file, or a folder")
    if not target.parent.is_dir():
        raise NotFound(f"{target.parent}: no such folder; create it first")
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with engine.open(file, read_only=True) as db:
            _copy(db, made, on_progress)
        _expect_sound(made)
        found = _report(made, target)
        os.link(made, target)  # fails if somebody else has made it meanwhile
        _sync(target.parent)
    except FileExistsError:
        raise Conflict(f"{target}: was made by another process just now") from None
    except OSError as error:
        raise EngineError(f"{target}: cannot be written ({error.strerror or error}); nothing was kept") from None
    except (apsw.FullError, apsw.IOError) as error:
        raise EngineError(f"{target}: cannot be written ({error}); nothing was kept") from None
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{made}{ending}").unlink(missing_ok=True)
    return found


def _copy(db: engine.Database, made: Path, on_progress: Callable[[int, int], None] | None) -> None:
    """Copy the pages of one state of the file."""
    with MAKING:
        os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with one_state(db), closing(apsw.Connection(str(made))) as target:
        db.connection.execute("select 1 from sqlite_schema").fetchall()  # from here on it is this state
        with target.backup("main", db.connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES)
                if on_progress is not None:
                    on_progress(copying.page_count - copying.remaining, copying.page_count)


def _expect_sound(made: Path) -> None:
    try:
        with engine.open(made, read_only=True) as db:
            fault = damage(db)
    except EngineError as error:
        fault = error.message
    except apsw.Error as error:
        fault = str(error)
    if fault is not None:
        raise EngineError(f"the copy is not sound: {fault}")


def _report(made: Path, target: Path) -> Backup:
    with engine.open(made, read_only=True) as db:
        runs = int(db.value("select count(*) from runs"))
    with made.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return Backup(str(target), made.stat().st_size, runs, digest)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
