"""Writes a run's file to the disk.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Conflict
from engine.system.durable import held_folder, sync, system_errors, temporary_beside

from .exporting import FORMAT, lines_of

if TYPE_CHECKING:
    from os import PathLike

    from engine.db.database import Store

_BEGINNING = f'{{"format":"{FORMAT}"'.encode()


def write_run(db: Store, run: str, path: str | PathLike[str]) -> str:
    """Write a run to a file; returns its SHA-256 (hex). See `RunFiles.export_run`."""
    data = text_of(db, run)
    place = Path(os.path.realpath(path))
    with system_errors("write", str(path)):
        if place.exists():
            with place.open("rb") as file:
                if file.read(len(_BEGINNING)) != _BEGINNING:
                    raise Conflict(f"{path}: is a file, and no exported run; choose another path")
        with held_folder(place.parent) as folder, temporary_beside(place.name, folder, data, 0o600) as temporary:
            os.replace(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            sync(folder)
    return hashlib.sha256(data).hexdigest()


def text_of(db: Store, run: str) -> bytes:
    """A run's file."""
    with db.held(), db.clear_errors, _reading(db):
        return b"".join(lines_of(db.connection, run))


@contextmanager
def _reading(db: Store) -> Iterator[None]:
    """One moment of the file."""
    if db.connection.in_transaction:
        yield
        return
    db.connection.execute("begin").fetchall()
    try:
        yield
    finally:
        db.connection.execute("rollback").fetchall()
