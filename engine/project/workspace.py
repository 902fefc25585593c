"""A project's root folder: lists, reads and writes its files. Nothing else in the engine does.

Paths outside the root, in `.git` or `.engine`, and of the engine's own files are refused. Text is read and written byte for
byte. A write names the hash that the file must have before it, is atomic, and may be repeated after a crash.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Literal

from engine.errors import Conflict, Overflow, PermissionDenied, ValidationError
from engine.functions.counts import counted
from engine.functions.pictures import HEAD_BYTES, picture_facts, picture_format
from engine.system.durable import (
    file_hash,
    has_mode,
    held_folder,
    open_regular,
    sync,
    system_errors,
    temporary_beside,
    text_of,
)
from engine.system.own_files import Identity

from .listing import Listing, Member, is_executable
from .membership import KeyFiles, candidates
from .root_paths import RootPaths

Kind = Literal["text", "binary", "too_large", "unreadable", "missing"]


@dataclass(frozen=True, slots=True)
class FileRead:
    """The result of reading a file: `text` only for kind text, `sha256` (hex, of the bytes) for text and binary.

    `size` is in bytes, `mtime_ns` in nanoseconds; both are 0 for a file that is missing or unreadable. `leads_to` is the
    file that a symbolic link leads to, relative to the root; None for a file that is none. `picture` is what
    `picture_facts` says of a binary file. `is_executable` is None for a file that is unreadable or missing. `reason` says
    why a link cannot be followed.
    """

    kind: Kind
    text: str | None = None
    sha256: str | None = None
    size: int = 0
    mtime_ns: int = 0
    leads_to: str | None = None
    picture: str | None = None
    is_executable: bool | None = None
    reason: str | None = None


class Workspace(RootPaths):
    """The files under the folder `root`, except the engine's own: `database` and the files that SQLite keeps beside it.

    Raises as `RootPaths` does.
    """

    @classmethod
    def at(cls, root: str | None, database: Path) -> Workspace:
        """The workspace of the folder `root` for the engine file `database`; a folder is checked once in a process.

        A relative `root` is taken from the current folder. Raises like the constructor, and `PermissionDenied` (403) for
        None: a run without a folder has no files.
        """
        if root is None:
            raise PermissionDenied("this run has no folder, so it has no files; start a run with root=, or --root")
        return _checked(os.path.abspath(root), database)

    def stat(self, path: str) -> Member | None:
        """A file without its text; None where there is none. A link is not executable, what it leads to may be."""
        try:
            place = self.resolve(path)
            found = place.stat()
        except OSError:
            return None
        return Member(
            path, found.st_size, found.st_mtime_ns, is_executable(found) and self._leads_to(path, place) is None
        )

    def members(
        self,
        *,
        added: Sequence[str],
        ignored: Sequence[str],
        limit: int,
        untracked: bool = True,
        refused: dict[str, int] | None = None,
    ) -> list[Member]:
        """The project's files, sorted by path: those of git or of a walk, with `added` and without `ignored`.

        Both are patterns of `pattern_match`, or folders. With `untracked` those that git would take are members too. A file
        that holds keys is a member only where `added` names it. `refused` gets the links that cannot be followed.
        Raises `Overflow` (413) for more than `limit` files.
        """
        found: dict[str, Member] = {}
        listing = Listing(self, self._own.identities(), added)
        for name in candidates(self.root, added, ignored, untracked=untracked):
            member = None if name in found else listing.member(name)
            if member:
                found[name] = member
            if len(found) > limit:
                advice = "leave some out with 'engine files ignore PATTERN'"
                raise Overflow(f"{str(self.root)!r} has more than {counted(limit, 'file')}; {advice}")
        if refused is not None:
            refused |= listing.refused
        return [found[name] for name in sorted(found)]

    def read(
        self, path: str, max_bytes: int, *, added: Sequence[str] | KeyFiles | None = None, picture_bytes: int = 0
    ) -> FileRead:
        """Read a file; its kind says where it is too large (more than `max_bytes`), binary, unreadable or missing.

        Of a picture `picture_bytes` are read where that is more. With `added`, a file that holds keys is unreadable unless
        one of these patterns names it. Raises `PermissionDenied` (403) for a path that is refused.
        """
        try:
            place = self.resolve(path) if added is None else self.expect_no_keys(path, added)
            with self._held(place) as (folder, name):
                found = self._content(folder, name, max_bytes, picture_bytes, self._own.identities())
        except (FileNotFoundError, NotADirectoryError):
            return FileRead("missing")
        except OSError:
            found = None
        return FileRead("unreadable") if found is None else _read(*found, max_bytes, self._leads_to(path, place))

    def read_all(
        self, paths: Sequence[str], max_bytes: int, *, added: KeyFiles, picture_bytes: int = 0
    ) -> Iterator[tuple[str, FileRead]]:
        """Read files that were listed, as `read` does, a folder at a time; what is refused is unreadable."""
        for folder, group in groupby(paths, key=lambda path: path.rpartition("/")[0]):
            with ExitStack() as stack:
                held = self._held_folder(folder, stack)
                own = self._own.identities()
                for path in group:
                    found = None if held is None else self._plain_file(held, path, max_bytes, picture_bytes, added, own)
                    yield path, found or self._listed(path, max_bytes, picture_bytes, added)

    def _held_folder(self, folder: str, stack: ExitStack) -> int | None:
        """A folder without a link in its path, held open; None where it is no such folder, or refused."""
        with suppress(OSError, PermissionDenied):
            parts = self._parts(folder) if folder else ()
            return stack.enter_context(held_folder(self.root, parts))
        return None

    def _plain_file(
        self, folder: int, path: str, max_bytes: int, picture_bytes: int, keys: KeyFiles, own: frozenset[Identity]
    ) -> FileRead | None:
        """A regular file in a held folder; None for a link, or for what cannot be read or is refused."""
        name = path.rpartition("/")[2]
        with suppress(OSError, PermissionDenied):
            self._parts(path)
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and not keys.has_name(path) and not keys.has_link(status):
                found = self._content(folder, name, max_bytes, picture_bytes, own)
                return _read(*found, max_bytes, None) if found else None
        return None

    def _listed(self, path: str, max_bytes: int, picture_bytes: int, keys: KeyFiles) -> FileRead:
        try:
            found = self.read(path, max_bytes, added=keys, picture_bytes=picture_bytes)
        except PermissionDenied:
            found = FileRead("unreadable")
        if found.kind not in ("missing", "unreadable") or (reason := self.link_fault(path)) is None:
            return found
        return FileRead("unreadable", mtime_ns=os.lstat(self.root / path).st_mtime_ns, reason=reason)

    def picture(self, path: str, sha256: str, max_bytes: int, *, added: Sequence[str]) -> bytes | None:
        """The bytes of the picture in a file; None where the file has other bytes, or cannot be read.

        Raises `PermissionDenied` (403) as `read` does.
        """
        place = self.expect_no_keys(path, added)
        try:
            with self._held(place) as (folder, name):
                data, _ = self._content(folder, name, 0, max_bytes, self._own.identities()) or (None, None)
        except OSError:
            return None
        return data if data is not None and hashlib.sha256(data).hexdigest() == sha256 else None

    def _content(
        self, folder: int, name: str, max_bytes: int, picture_bytes: int, own: frozenset[Identity]
    ) -> tuple[bytes | None, os.stat_result] | None:
        """The bytes of a file in a held folder, None for too many; None for one of the engine's own."""
        with open_regular(name, folder) as file:
            status = os.fstat(file.fileno())
            if (status.st_dev, status.st_ino) in own:
                return None
            head = file.read(HEAD_BYTES) if max_bytes < status.st_size <= picture_bytes else b""
            most = picture_bytes if picture_format(head) else max_bytes
            data = head + file.read(most + 1 - len(head)) if status.st_size <= most else None
        return (None if data is None or len(data) > most else data), status

    def write(
        self,
        path: str,
        text: str,
        *,
        before: str | None,
        leads_to: str | None = None,
        executable: bool | None = None,
        after_ok: bool = True,
    ) -> str:
        """Write a file atomically, with the folders it needs; return the SHA-256 (hex) of its new bytes.

        `before` is the SHA-256 that the file must have now, None where there must be no file. With `after_ok` a file that
        already holds `text` is a success. `leads_to` names the file that is written where `path` is a symbolic link to it.
        With `executable` whoever may read the file may execute it then, or nobody; without it keeps its mode.
        Raises `Conflict` (409) where the file has changed or links lead to another one, `PermissionDenied` (403) for a path
        that is refused, `ValidationError` (400) for a text that is no UTF-8.
        """
        target = self.resolve(path)
        self._expect_place(path, target, leads_to)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            message = f"cannot write {path!r}: character {error.start} is half a surrogate pair; leave it out"
            raise ValidationError(message) from error
        after = hashlib.sha256(data).hexdigest()
        with system_errors("write", path), self._held(target, make=True) as (folder, name):
            now = file_hash(name, folder)
            if not after_ok or now != after or not has_mode(name, folder, executable):
                expected = after if after_ok and now == after else before
                _expect(now, expected, path)
                with temporary_beside(name, folder, data, executable=executable) as prepared:
                    # Another program may have written the file in the meantime.
                    _expect(file_hash(name, folder), expected, path)
                    os.replace(prepared, name, src_dir_fd=folder, dst_dir_fd=folder)
            sync(folder)
        return after

    def delete(self, path: str, *, before: str | None) -> None:
        """Remove a file whose SHA-256 is `before`; one that is gone already is a success.

        Of a symlink the target is hashed and the link is removed. Raises `Conflict` (409) where the file has changed, or a
        link stands in the place of a folder of its path.
        """
        target = self.resolve(path)
        link = self._place_of_name(path)
        self._expect_place(path, link, None)
        with system_errors("delete", path):
            now = self._hash_of(target)
            if now is None:
                return
            _expect(now, before, path)
            with self._held(link) as (folder, name):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
                sync(folder)

    def expect(self, path: str, *, before: str | None, after: str | None, leads_to: str | None = None) -> None:
        """Raise the error that writing `after` would raise now, or removing the file where `after` is None."""
        target = self.resolve(path)
        if after is None:
            self._expect_place(path, self._place_of_name(path), None)
        else:
            self._expect_place(path, target, leads_to)
        with system_errors("read", path):
            now = self._hash_of(target)
        if now != (None if after is None else hashlib.sha256(after.encode(errors="replace")).hexdigest()):
            _expect(now, before, path)

    def _hash_of(self, place: Path) -> str | None:
        """The SHA-256 (hex) of the file at a real path; None where there is none."""
        try:
            with self._held(place) as (folder, name):
                return file_hash(name, folder)
        except FileNotFoundError:
            return None


def _read(data: bytes | None, status: os.stat_result, max_bytes: int, leads_to: str | None) -> FileRead:
    """What `read` says of the bytes of a file; None for too many."""
    mode = is_executable(status) and leads_to is None
    if data is None:
        return FileRead("too_large", None, None, status.st_size, status.st_mtime_ns, leads_to, None, mode)
    text = text_of(data)
    digest, facts = hashlib.sha256(data).hexdigest(), None if text is not None else picture_facts(data)
    if text is None and facts is None and len(data) > max_bytes:
        return FileRead("too_large", None, None, len(data), status.st_mtime_ns, leads_to, None, mode)
    kind: Kind = "binary" if text is None else "text"
    return FileRead(kind, text, digest, len(data), status.st_mtime_ns, leads_to, facts, mode)


@lru_cache(maxsize=64)
def _checked(root: str, database: Path) -> Workspace:
    return Workspace(Path(root), database)


def _expect(now: str | None, before: str | None, path: str) -> None:
    if now == before:
        return
    what = "it was removed" if now is None else "it exists" if before is None else "its content has changed"
    # a get finds it unless git ignores it, or a person does
    elsewhere = f"; if it is not found, it is outside the project ('engine files add {path}'): write to another path"
    more = elsewhere if now is not None and before is None else ""
    raise Conflict(f"file changed on disk: {path!r}, {what}; read it again before changing it{more}")
