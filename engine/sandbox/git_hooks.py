"""Where git looks for hooks besides `.git/hooks`: the folders that `core.hooksPath` names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from engine.project.membership import output_of_git

_KEYS = ("hookspath", "include")
"""A configuration without these words names no folder, nor another file that could; names of keys have one spelling."""
_LONGEST = 1_000_000


class HookFolders:
    """The folders of hooks of work trees; the user's own configuration is read once."""

    def __init__(self) -> None:
        self._git = shutil.which("git")
        self._of_user = self._asked(Path("/"), "--global") + self._asked(Path("/"), "--system")

    def of(self, place: Path) -> set[Path]:
        """The folders that are named for the work tree with the `.git` that is `place`; they may be missing."""
        named = [value for file in _configurations(place) for value in self._named_in(file)]
        return {Path(os.path.normpath(place.parent / value)) for value in (*self._of_user, *named)}

    def _named_in(self, file: Path) -> list[str]:
        if not file.is_file():
            return []
        try:
            with open(file, "rb") as opened:
                text = opened.read(_LONGEST + 1).lower()
        except OSError:
            return []
        if len(text) <= _LONGEST and not any(key.encode() in text for key in _KEYS):
            return []
        return self._asked(file.parent, "--file", str(file))

    def _asked(self, folder: Path, *where: str) -> list[str]:
        """The values that git finds; it runs no program for that, and looks at no repository."""
        if self._git is None:
            return []
        words = [self._git, "config", *where, "--includes", "--null", "--type=path", "--get-all", "core.hooksPath"]
        printed = output_of_git(words, folder) or b""
        return [os.fsdecode(value) for value in printed.split(b"\0") if value]


def _configurations(place: Path) -> list[Path]:
    """The files that configure the work tree with this `.git`, which may be a file that leads to the repository."""
    folder = place
    if place.is_file():
        try:
            with open(place, encoding="utf-8", errors="surrogateescape") as file:
                leads, _, to = file.read(_LONGEST).strip().partition("gitdir: ")
        except OSError:
            return []
        if leads or "\0" in to:
            return []
        folder = place.parent / to
    # that of a linked work tree stands in the repository which it belongs to
    folders = [folder, folder.parent.parent] if folder.parent.name == "worktrees" else [folder]
    return [each / name for each in folders for name in ("config", "config.worktree")]
