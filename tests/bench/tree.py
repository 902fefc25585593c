"""Another revision beside this one: laid out in a folder, and imported from there in place of the installed one."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent.parent
"""The checkout that this file belongs to, with what is not committed."""


def lay_out(revision: str) -> Path:
    """The files of `revision` in a folder under .bench/, made where it is not there yet."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--verify", f"{revision}^{{commit}}"]
    commit = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    tree = ROOT / ".bench" / commit
    if not (tree / "pyproject.toml").is_file():
        tree.mkdir(parents=True, exist_ok=True)
        archive = tree.with_suffix(".tar")
        subprocess.run(["git", "-C", str(ROOT), "archive", "--output", str(archive), commit], check=True)
        with tarfile.open(archive) as packed:
            packed.extractall(tree, filter="data")
        archive.unlink()
    return tree


class _Finder(MetaPathFinder):
    """Finds the packages of one tree where its pyproject.toml says that they lie."""

    def __init__(self, tree: Path) -> None:
        with (tree / "pyproject.toml").open("rb") as file:
            folders = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
        self._folders = {name: tree / folder for name, folder in folders.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folder = self._folders.get(fullname)
        if folder is None:
            return None
        return spec_from_file_location(fullname, folder / "__init__.py", submodule_search_locations=[str(folder)])


def compiled_once() -> dict[str, str]:
    """The environment for processes that keep what they compile, as those of a person do, and that search nothing: what is
    installed beside the engine changes what its packets hold.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "ENGINE_SEARCH": "none"}


def use(tree: Path) -> None:
    """Import `engine` and its subpackages from `tree` from now on, in a process that has not imported them yet.

    The finder of an installed checkout goes: it would find there what `tree` does not have.
    """
    assert "engine" not in sys.modules, "the process has an engine already"
    sys.meta_path[:] = [
        _Finder(tree),
        *(finder for finder in sys.meta_path if not getattr(finder, "__module__", "").startswith("__editable__")),
    ]
