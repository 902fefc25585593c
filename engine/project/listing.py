"""Decides which of the names that a listing of a project found are its members; each folder is looked at once."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import PermissionDenied
from engine.system.own_files import Identity

from .membership import KeyFiles

if TYPE_CHECKING:
    from .workspace import Workspace

PROTECTED = frozenset({".git", ".engine"})
_NO_NAMES = frozenset({"", ".", ".."})
_LONGEST = 2048
"""The characters of the longest path that an entry can have."""


class Member(NamedTuple):
    """A file: `path` relative to the root, in POSIX form; `size` in bytes, `mtime_ns` in nanoseconds."""

    path: str
    size: int
    mtime_ns: int
    is_executable: bool = False

    @property
    def stamp(self) -> tuple[int, ...]:
        """What tells without reading it that it has changed."""
        return (self.size, self.mtime_ns, 1) if self.is_executable else (self.size, self.mtime_ns)


class Listing:
    """The members of the project in `workspace`; `own` are the engine's files, `added` the patterns of a person."""

    def __init__(self, workspace: Workspace, own: frozenset[Identity], added: Sequence[str]) -> None:
        self._workspace = workspace
        self._root = str(workspace.root)
        self._own = own
        self._keys = KeyFiles(workspace.root, added)
        self._folders = {"": True}
        self.refused: dict[str, int] = {}
        """Links that lead out of the root or to nothing, with the nanoseconds of their last change."""

    def member(self, name: str) -> Member | None:
        """The file `name`; None where it is no regular file, is protected, holds keys, is too long or in a linked folder."""
        folder, _, last = name.rpartition("/")
        if last in _NO_NAMES or len(name) > _LONGEST or "\0" in name or not (name.isascii() or is_unicode(name)):
            return None
        if not (self._folders[folder] if folder in self._folders else self._is_open(folder)):
            return None
        try:
            status = os.lstat(f"{self._root}/{name}")
            is_link = stat.S_ISLNK(status.st_mode)
            if is_link:
                self._workspace.expect_no_keys(name, self._keys)
                status = os.stat(self._workspace.resolve(name))
        except (OSError, PermissionDenied):
            if self._workspace.link_fault(name):
                self.refused[name] = os.lstat(f"{self._root}/{name}").st_mtime_ns
            return None
        mode, identity = status.st_mode, (status.st_dev, status.st_ino)
        if not stat.S_ISREG(mode) or identity in self._own or last.casefold() in PROTECTED:
            return None
        if self._keys.has_link(status):
            return None
        return Member(name, status.st_size, status.st_mtime_ns, bool(mode & stat.S_IXUSR) and not is_link)

    def _is_open(self, folder: str) -> bool:
        """Whether a folder and those above it are real ones and not protected."""
        above = [folder]
        while above[-1] not in self._folders:
            above.append(above[-1].rpartition("/")[0])
        for each in reversed(above[:-1]):
            parent, _, last = each.rpartition("/")
            self._folders[each] = (
                self._folders[parent]
                and last not in _NO_NAMES
                and not is_protected([last])
                and _is_folder(f"{self._root}/{each}")
            )
        return self._folders[folder]


def is_executable(status: os.stat_result) -> bool:
    """Whether the owner of a file may execute it."""
    return bool(status.st_mode & stat.S_IXUSR)


def is_protected(parts: Sequence[str]) -> bool:
    """Whether a part of a path is a folder that no project has."""
    return any(part.casefold() in PROTECTED for part in parts)


def _is_folder(place: str) -> bool:
    """Whether there is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except OSError:
        return False


def is_unicode(text: str) -> bool:
    """Whether a name is text: bytes of a name that are not UTF-8 are halves of surrogate pairs in Python."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
