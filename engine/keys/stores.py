"""The stores of keys: a file `keys.toml` with mode 0600, in the user's configuration folder or in a project's `.engine`.

A store that another user may have written, that others can read, or that is behind a symbolic link is not read: a key in it
could be anybody's. A store that git has brought along has another mode, and gives nothing.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from engine.errors import EngineError, NotFound, PermissionDenied
from engine.system.locate import FILE, FOLDER, make_folder
from engine.system.places import config_folder, look_at, own_lock, write_own

PROJECT = "project"
USER = "user"
NAME = "keys.toml"
_HEAD = (
    "# Keys of providers, kept by 'engine keys'. Nobody but you may read this file, and no program should copy it.\n"
)


class Store(NamedTuple):
    """A store of keys at `place`; `kind` is project or user."""

    kind: str
    place: Path

    def read(self) -> dict[str, str]:
        """The keys by provider; none where there is no store, or one that is not read (see `reason`)."""
        return self._read()[0]

    def reason(self) -> str | None:
        """Why a store that is there is not read, as a sentence; None where it is."""
        reason = self._read()[1]
        return f"{self.place}: {reason}; no key is taken from it" if reason else None

    def set(self, provider: str, key: str) -> None:
        """Keep the key of a provider in place of the one that is there; raises like `remove`."""
        self._change(provider, key)

    def remove(self, provider: str) -> None:
        """Forget the key of a provider.

        Raises `NotFound` (404) where there is none, `PermissionDenied` (403) for a store that is not read, `EngineError`
        (500) where the store cannot be written; nothing is changed then.
        """
        self._change(provider, None)

    def _change(self, provider: str, key: str | None) -> None:
        if reason := self.reason():
            raise PermissionDenied(f"{reason}; nothing was changed")
        if self.kind == PROJECT:
            make_folder(self.place.with_name(FILE))
        try:
            with own_lock(self.place):
                known = self.read()
                if key is None and provider not in known:
                    raise NotFound(f"{self.place} has no key for {provider}")
                known = {name: value for name, value in known.items() if name != provider}
                if key is not None:
                    known[provider] = key
                lines = [f"{_bare(name)} = {json.dumps(value)}\n" for name, value in sorted(known.items())]
                write_own(self.place, "".join([_HEAD, *lines]).encode())
                if self.kind == PROJECT:
                    _keep_out_of_git(self.place.parent)
        except OSError as error:
            advice = "" if self.kind == PROJECT else "; --project keeps a key in the folder of the project"
            raise EngineError(
                f"{self.place}: cannot be written ({error.strerror or error}); nothing was changed{advice}"
            ) from None

    def _read(self) -> tuple[dict[str, str], str | None]:
        # a folder of the project that is a link was led elsewhere; the user's own may be one
        if self.kind == PROJECT and self.place.parent.is_symlink():
            return {}, "is behind a symbolic link"
        data, reason = look_at(self.place, private=True)
        if data is None:
            return {}, reason
        import tomllib  # apps and most commands need no store

        try:
            found = tomllib.loads(data.decode())
        except UnicodeDecodeError:
            return {}, "is not UTF-8"
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))  # the rest of the message may hold a part of a key
            return {}, f"is not TOML{f', line {line[1]}' if line else ''}"
        wrong = [name for name, value in found.items() if not isinstance(value, str)]
        return ({}, f"the key of {wrong[0]!r} is not a text in quotes") if wrong else (found, None)


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def user_store() -> Store:
    """The store of this user."""
    return Store(USER, config_folder() / NAME)


def project_store(root: str | Path | None) -> Store | None:
    """The store of the folder `root` or of the nearest folder above it that has an `.engine`; None where none has.

    A folder above counts only where it belongs to this user.
    """
    if root is None:
        return None
    start = Path(os.path.realpath(root))
    for folder in (start, *start.parents):
        with suppress(OSError):
            found = os.lstat(folder / FOLDER)
            if folder == start or found.st_uid == os.geteuid():
                return Store(PROJECT, folder / FOLDER / NAME)
    return None


def store_to_write(*, project: bool) -> Store:
    """The user's store, or with `project` that of the present folder, which does not exist yet where none is above."""
    if not project:
        return user_store()
    here = Path.cwd()
    return project_store(here) or Store(PROJECT, here / FOLDER / NAME)


def _keep_out_of_git(folder: Path) -> None:
    """Make a `.gitignore` of all in the folder where there is none."""
    with suppress(FileExistsError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write("*\n")
