"""Writes a run's file to the disk.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from engine.db.one_state import one_state
from engine.errors import Conflict
from engine.system.durable import replace_file, system_errors

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
                    raise Conflict(f"{path}: already exists, and is not an exported run; choose another path")
        replace_file(place, data, 0o600)
    return hashlib.sha256(data).hexdigest()


def text_of(db: Store, run: str) -> bytes:
    """A run's file."""
    with db.clear_errors, one_state(db):
        return b"".join(lines_of(db.connection, run))
