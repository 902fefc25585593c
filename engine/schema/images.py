"""Images of fresh files: each build makes one once and keeps it in the user's cache; a new file is a copy of it.

An image from the cache is used only where its hash is right, and where only this user may write it and its folder. Its name
holds the build, its plugins and the SQLite that made it, so no image is ever out of date.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import apsw

from engine.system.descriptors import MAKING
from engine.system.durable import held_folder, sync, temporary_beside
from engine.system.places import cache_folder, read_cached, write_cached

from .objects import Object

_FORM = 3
"""The format of an image in the cache. It is part of the name, so an image of another format is not found."""
_KEPT = 8
"""How many images stay in the cache; each build with each set of plugins has one."""
_LENGTH_BYTES = 8


NO_MARK = "~" * 32
"""What stands in an image in the place of the mark that each new file gets; as long as that."""


class _Parts(NamedTuple):
    image: bytes
    objects: tuple[Object, ...]


class Fresh(_Parts):
    """A fresh file: its bytes, and its tables, indexes, views and triggers."""

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

    def marked(self, mark: str) -> bytes:
        """The image with a mark, 32 characters of ASCII."""
        return self.image.replace(NO_MARK.encode(), mark.encode(), 1)

    def write(self, path: Path, mark: str, *, private: bool) -> bool:
        """Make a new file at `path` atomically; False where a file is there already, or the file system has no links.

        With `private` the file has mode 0600 from the start. It bears `mark`, 32 characters of ASCII.
        """
        try:
            mode = 0o600 if private else None
            image = self.marked(mark)
            with held_folder(Path(os.path.realpath(path.parent))) as folder:
                with ExitStack() as until_closed:
                    temporary = until_closed.enter_context(temporary_beside(path.name, folder, image, mode))
                    with MAKING:
                        os.link(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                        until_closed.close()
                sync(folder)
        except OSError:
            return False
        return True


def kept(key: str) -> Fresh | None:
    """The image of a build from the user's cache; None where it is missing, damaged, or others may write it."""
    data = read_cached(_place(key))
    if data is None:
        return None
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    return Fresh(data[end:], tuple(Object(*row) for row in json.loads(data[_LENGTH_BYTES:end])))


def kept_fingerprint(key: str) -> str | None:
    """The fingerprint of the objects of a build's image from the user's cache, which is read faster than they are."""
    data = read_cached(_place(key, "fingerprint"))
    return data.decode() if data else None


def keep_fingerprint(key: str, fingerprint: str) -> None:
    """Put the fingerprint of a build's objects into the user's cache, as `keep` does with the image."""
    write_cached(_place(key, "fingerprint"), fingerprint.encode(), _KEPT)


def keep(key: str, fresh: Fresh) -> None:
    """Put an image into the user's cache and remove the oldest ones; does nothing where the cache cannot be written."""
    objects = json.dumps(fresh.objects).encode()
    write_cached(_place(key), len(objects).to_bytes(_LENGTH_BYTES, "big") + objects + fresh.image, _KEPT)


def _place(key: str, kind: str = "image") -> Path:
    made_by = f"{_FORM} {key} {apsw.apsw_version()} {apsw.sqlite3_sourceid()}"
    return cache_folder() / "schemas" / f"{hashlib.sha256(made_by.encode()).hexdigest()[:32]}.{kind}"
