"""Finds the engine file that a command means when none is named: `.engine/engine.db`, here or in a parent folder."""

from __future__ import annotations

from pathlib import Path

from .durable import system_errors
from .errors import NotFound

FOLDER = ".engine"
FILE = "engine.db"


def find_database(start: Path) -> Path | None:
    """The `.engine/engine.db` of `start` or of the nearest parent folder that has one; None where there is none."""
    here = start.absolute()
    found = (folder / FOLDER / FILE for folder in (here, *here.parents))
    return next((path for path in found if path.is_file()), None)


def database_to_read(given: Path | None, start: Path) -> Path:
    """The file to look at: `given`, else the nearest one; raises `NotFound` (404) when it is not there."""
    if given is not None:
        if not given.exists():
            raise NotFound(f"{given}: there is no such database; 'engine run --db {given} PROMPT' creates it")
        return given
    found = find_database(start)
    if found is None:
        raise NotFound(
            f"no database in {str(start.absolute())!r} or a folder above it; "
            "'engine run PROMPT' creates one, --db PATH names one elsewhere"
        )
    return found


def database_to_write(given: Path | None, start: Path) -> Path:
    """The file to write to: `given`, else the nearest one, else a new one in `start`, which `make_folder` prepares."""
    return given or find_database(start) or start.absolute() / FOLDER / FILE


def make_folder(path: Path) -> None:
    """Make the `.engine` folder of the default database `path`: closed to others, ignored by git.

    Does nothing for a database elsewhere or a folder that is there; raises `PermissionDenied` (403) or another
    `EngineError` when the folder cannot be made.
    """
    folder = path.parent
    if folder.name != FOLDER or folder.exists():
        return
    with system_errors("create", str(folder)):
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
