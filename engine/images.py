"""Images of fresh files: each build makes one once and keeps it in the user's cache; a new file is a copy of it.

An image from the cache is used only where its hash is right, and where only this user may write it and its folder. Its name
holds the build, its plugins and the SQLite that made it, so no image is ever out of date.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import apsw

from .durable import sync_folder, temporary_beside
from .objects import Object
from .places import cache_folder, read_own, write_own

_FORM = 1
"""The format of an image in the cache. It is part of the name, so an image of another format is not found."""
_KEPT = 8
"""How many images stay in the cache; each build with each set of plugins has one."""
_HASH_BYTES = 32
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Fresh:
    """A fresh file: its bytes, and its tables, indexes, views and triggers."""

    image: bytes
    objects: tuple[Object, ...]

    @cached_property
    def by_name(self) -> dict[str, Object]:
        """The objects by their names in small letters."""
        return {found.name.lower(): found for found in self.objects}

    def copy_to(self, connection: apsw.Connection) -> None:
        """Copy the image into `connection`, a database in memory."""
        image = bytearray(self.image)
        image[18:20] = b"\1\1"  # a database in memory cannot be in WAL mode
        with closing(apsw.Connection(":memory:")) as source:
            source.deserialize("main", bytes(image))
            with connection.backup("main", source, "main") as copying:
                copying.step()

    def write(self, path: Path, *, private: bool) -> bool:
        """Make a new file at `path` atomically; False where a file is there already, or the file system has no links.

        With `private` the file has mode 0600 from the start.
        """
        try:
            with temporary_beside(path, self.image) as temporary:
                if private:
                    temporary.chmod(0o600)
                os.link(temporary, path, follow_symlinks=False)
        except OSError:
            return False
        sync_folder(path.parent)
        return True


def kept(key: str) -> Fresh | None:
    """The image of a build from the user's cache; None where it is missing, damaged, or others may write it."""
    data = read_own(_place(key))
    if data is None or hashlib.sha256(data[_HASH_BYTES:]).digest() != data[:_HASH_BYTES]:
        return None
    start = _HASH_BYTES + _LENGTH_BYTES
    end = start + int.from_bytes(data[_HASH_BYTES:start], "big")
    return Fresh(data[end:], tuple(Object(*row) for row in json.loads(data[start:end])))


def keep(key: str, fresh: Fresh) -> None:
    """Put an image into the user's cache and remove the oldest ones; does nothing where the cache cannot be written."""
    objects = json.dumps(fresh.objects).encode()
    data = len(objects).to_bytes(_LENGTH_BYTES, "big") + objects + fresh.image
    with suppress(OSError):
        place = _place(key)
        write_own(place, hashlib.sha256(data).digest() + data)
        images = sorted(place.parent.glob("*.image"), key=lambda each: each.stat().st_mtime)
        for old in images[:-_KEPT]:
            old.unlink(missing_ok=True)


def _place(key: str) -> Path:
    made_by = f"{_FORM} {key} {apsw.apsw_version()} {apsw.sqlite3_sourceid()}"
    return cache_folder() / "schemas" / f"{hashlib.sha256(made_by.encode()).hexdigest()[:32]}.image"
