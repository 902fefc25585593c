"""Where the paths of a project lead: which are refused, what links make of them, and the folders that hold them.

Paths outside the root, in `.git` or `.engine`, and of the engine's own files are refused.

spec: @absolute_paths
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from engine.errors import Conflict, NotFound, PermissionDenied, ValidationError
from engine.system.durable import held_folder, real_path
from engine.system.own_files import OwnFiles
from engine.trust import trusted_folders

from .listing import is_protected, is_unicode
from .membership import KeyFiles


class RootPaths:
    """The paths below the folder `root`; `database` and the files that SQLite keeps beside it are the engine's own.

    Raises `NotFound` (404) where there is no such folder, `ValidationError` (400) where it is no folder, and
    `PermissionDenied` (403) where it cannot be read.
    """

    def __init__(self, root: Path, database: Path | None = None) -> None:
        try:
            os.listdir(root)
            os.stat(os.path.join(root, "."))
        except FileNotFoundError as error:
            raise NotFound(f"no such folder: {str(root)!r}; create it or give another root") from error
        except PermissionError as error:
            message = f"cannot read the folder {str(root)!r}; change its mode or owner"
            raise PermissionDenied(message) from error
        except (OSError, ValueError) as error:
            raise ValidationError(f"not a folder: {str(root)!r}; give a project's folder as root") from error
        self.root = Path(os.path.realpath(root))
        self._own = OwnFiles(database)
        self._trusted = [folder for folder in trusted_folders.inside(self.root) if folder != self.root]

    def resolve(self, path: str) -> Path:
        """The real path of `path`, which need not exist; raises `PermissionDenied` (403) for a path that is refused."""
        found, is_linked = str(self.root), False
        for part in self._parts(path):
            found = f"{found}/{part}"
            if os.path.islink(found):
                is_linked = True
                found = real_path(found)
                if not Path(found).is_relative_to(self.root):
                    raise self._refusal(path, "a symbolic link in it leads elsewhere")
        place = Path(found)
        if is_linked and place == self.root:
            raise self._refusal(path, "it is the root itself")
        if is_linked and is_protected(place.relative_to(self.root).parts):
            raise self._refusal(path, "it leads into .git or .engine")
        if self._own.hold(place) or any(place.is_relative_to(folder) for folder in self._trusted):
            raise PermissionDenied(f"{path!r} cannot be changed, because it belongs to the engine")
        return place

    def expect_no_keys(self, path: str, added: Sequence[str] | KeyFiles) -> Path:
        """The real path of `path`; raises `PermissionDenied` (403) for a file that holds keys, unless one of the patterns
        `added` names it. Another name of such a file, a hard link, is one too.

        Whoever asks about many files gives `KeyFiles`, which look through the folders once.
        """
        keys = added if isinstance(added, KeyFiles) else KeyFiles(self.root, added)
        place = self.resolve(path)
        with suppress(OSError):
            if keys.has_link(place.lstat()):
                raise PermissionDenied(f"{path!r} is refused: it is another name of a file that may hold keys")
        for name in (path, self._name_of(place)):
            if keys.has_name(name):
                raise PermissionDenied(
                    f"{path!r} is refused, because such a file may hold keys; a person can allow it with 'engine "
                    f"files add {name}'"
                )
        return place

    def link_fault(self, path: str) -> str | None:
        """Why the symbolic link at `path` cannot be followed; None if it can, or if `path` is no link."""
        place = f"{self.root}/{path}"
        if not os.path.islink(place):
            return None
        real = real_path(place)
        if not Path(real).is_relative_to(self.root):
            return "is a symbolic link to a place outside the project; to read it, copy the file into the project"
        return None if os.path.exists(real) else "is a symbolic link that leads to nothing"

    def _leads_to(self, path: str, place: Path) -> str | None:
        """The real `place` of `path` relative to the root; None where it is the path itself."""
        real = self._name_of(place)
        return None if real == _plain(path) else real

    def _name_of(self, place: Path) -> str:
        """A real path relative to the root."""
        return str(place)[len(str(self.root)) :].lstrip("/")

    def _place_of_name(self, path: str) -> Path:
        """The real folder of a path, and its name in there, which may be that of a link."""
        *above, last = self._parts(path)
        folder = Path(real_path(self.root.joinpath(*above)))
        if not folder.is_relative_to(self.root):
            raise self._refusal(path, "a symbolic link in it leads elsewhere")
        return folder / last

    def _expect_place(self, path: str, place: Path, leads_to: str | None) -> None:
        """Raise `Conflict` (409) where the real `place` of `path` is not `leads_to`, or without it the path itself."""
        real = place.relative_to(self.root).as_posix()
        if real == (leads_to or _plain(path)):
            return
        if leads_to is None:
            raise Conflict(f"{path!r} is a symbolic link to {real!r}; change {real!r} instead")
        raise Conflict(
            f"{path!r} was a link to {leads_to!r} when the change was proposed, and leads to {real!r} now; read it again"
        )

    @contextmanager
    def _held(self, place: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder of a real path, held open, and its name in there. No link is followed: one that came in the meantime
        is an `OSError`.
        """
        *parts, name = self._name_of(place).split("/")
        with held_folder(self.root, parts, make=make) as folder:
            yield folder, name

    def _parts(self, path: str) -> tuple[str, ...]:
        """The parts of a path; raises `PermissionDenied` (403) for one whose text alone leads out of the root."""
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts:
            raise self._refusal(path, "a path must name a file, be relative and have no '..'")
        if is_protected(parts):
            raise self._refusal(path, "it leads into .git or .engine")
        if "\0" in path or not is_unicode(path):
            raise self._refusal(path, "it holds a character that no path may hold")
        return parts

    def _refusal(self, path: str, reason: str) -> PermissionDenied:
        rule = f"only files inside the root {str(self.root)!r} may be touched"
        return PermissionDenied(f"{path!r} is refused, {reason}; {rule}")


def _plain(path: str) -> str:
    """A path as `relative_to` gives it, without `.` and doubled slashes."""
    return PurePosixPath(path).as_posix()
