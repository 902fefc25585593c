"""A quick look for entry points: each process asks for plugins, and `importlib.metadata` takes ten times as long."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.machinery import PathFinder


def has_entry_point(group: str) -> bool:
    """Whether a package on `sys.path` may have an entry point of `group`.

    It is True as well where that cannot be told from folders: for packages in an archive, and where another finder than
    Python's own knows packages.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    mark = f"[{group}]".encode()
    return any(_mentions(mark, folder) for folder in sys.path)


def _mentions(mark: bytes, folder: str) -> bool:
    """Whether `mark` stands in the entry points of a package that is installed in `folder`."""
    try:
        names = os.listdir(folder or ".")
    except NotADirectoryError:
        return True
    except OSError:
        return False
    for name in names:
        if name.lower().endswith((".dist-info", "egg-info")):
            with suppress(OSError), open(os.path.join(folder, name, "entry_points.txt"), "rb", 0) as file:
                if mark in file.read():
                    return True
    return False
