"""Folders whose files this user's engine made, as the variable `ENGINE_TRUST` says: a container that starts anew knows them.

The variable counts in the environment of the process alone. A folder counts where nobody but this user and root can have
put a file into it, or swapped a folder on the way to it.

spec: @trusted_folders @production
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from engine.system.locate import FOLDER
from engine.system.own_files import ENDINGS
from engine.system.places import is_own

VARIABLE = "ENGINE_TRUST"


def named() -> list[str]:
    """The folders that the variable names, as they are written there."""
    return [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]


def holds(file: str) -> bool:
    """Whether a file lies directly in a folder that counts. `file` is its path as SQLite opened it, with all links followed.

    A file of somebody else, one that others can write, one with a second name and one behind a link do not count, nor does
    one with such a log.
    """
    folder = os.path.dirname(file)
    return folder in named() and reason_against(folder) is None and fault_of(file) is None


def fault_of(file: str) -> str | None:
    """Why a file in a folder that counts does not count, as the end of a sentence about the folder; None for one that does.

    In a folder `.engine` the engine makes files that nobody else may even read, which a clone does not.
    """
    if os.path.realpath(file) != file:
        return "holds a link in the place of this file"
    for ending in ENDINGS:
        try:
            found = os.lstat(file + ending)
        except FileNotFoundError:
            if ending:
                continue
            return "does not hold this file"
        except OSError as error:
            return f"holds this file, which cannot be looked at ({error.strerror})"
        name = os.path.basename(file) + ending
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            return f"holds {name} under another name, too, or as a link"
        if not is_own(found):
            return f"holds {name}, which belongs to another user, or can be written by others; chmod go-w"
        if os.path.basename(os.path.dirname(file)) == FOLDER and found.st_mode & 0o077:
            return f"holds {name}, which others can read, as if it came with a clone; if your engine made it, chmod 600"
    return None


def inside(root: Path) -> list[Path]:
    """The folders that the variable names in the folder `root`, a real path, or that are it: no run may write there."""
    folders = (Path(folder) for folder in named() if os.path.realpath(folder) == folder)
    return [folder for folder in folders if folder.is_relative_to(root)]


def reason_against(folder: str) -> str | None:
    """Why a folder does not count, as the end of a sentence about it; None for one that does."""
    if not os.path.isabs(folder) or os.path.normpath(folder) != folder:
        return "is no absolute path without dots"
    if (real := os.path.realpath(folder)) != folder:
        return f"is behind a symbolic link; name {real}"
    try:
        own = os.stat(folder)
        if not stat.S_ISDIR(own.st_mode):
            return "is no folder"
        if not is_own(own):
            return "belongs to another user, or can be written by others; chmod go-w"
        above = next((each for each in _loose(Path(folder))), None)
    except OSError as error:
        return f"cannot be looked at ({error.strerror})"
    return None if above is None else f"lies in {above}, in which others can put another folder in its place"


def _loose(folder: Path) -> Iterator[Path]:
    """The folders above in which somebody else could rename what leads to `folder`; in a sticky one only its owner can."""
    for above in folder.parents:
        found = os.stat(above)
        open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
        if found.st_uid not in (0, os.geteuid()) or open_to_others:
            yield above
