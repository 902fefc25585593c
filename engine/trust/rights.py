"""Which rights that a file holds this user has given: grants, and policies that do not refuse.

That is kept in `rights.json` in the user's configuration folder: for the real path of each file, the digests of its rights.
A file that comes from elsewhere, or a right that was changed in it, is thereby no right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from engine.errors import EngineError
from engine.system.places import config_folder, own_lock, read_own, write_own


def store() -> Path:
    """The path of `rights.json`."""
    return config_folder() / "rights.json"


class Rights:
    """The rights of the file at `place`, its real path; None for a file in memory, whose rights end with it."""

    def __init__(self, place: Path | None) -> None:
        self._place = None if place is None else str(place)
        self._in_memory: list[str] = []

    def confirmed(self, text: str) -> bool:
        """Whether this user has given the right that `text` describes."""
        return _digest(text) in self._known()

    def change(self, *, give: Iterable[str] = (), take: Iterable[str] = ()) -> None:
        """Give and take rights; raises `EngineError` (500) where `rights.json` cannot be written, and changes nothing."""
        given, gone = {_digest(text) for text in give}, {_digest(text) for text in take}
        if self._place is None:
            self._in_memory = sorted({*self._in_memory, *given} - gone)
            return
        try:
            # another process may give rights in another file at this moment
            with own_lock(store()):
                known = _read()
                known[self._place] = sorted({*known.get(self._place, []), *given} - gone)
                kept = {place: value for place, value in known.items() if value}
                write_own(store(), (json.dumps(kept, indent=2, sort_keys=True) + "\n").encode())
        except OSError as error:
            raise EngineError(
                f"{store()}: cannot be written ({error.strerror or error}); nothing was changed"
            ) from error

    def _known(self) -> list[str]:
        return self._in_memory if self._place is None else _read().get(self._place, [])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read() -> dict[str, list[str]]:
    try:
        found = json.loads(read_own(store()) or b"{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(place): [str(each) for each in value] for place, value in found.items() if isinstance(value, list)}
