"""Which objects of others this user trusts in which file.

That is kept in `trust.json` in the user's configuration folder, not in the file: for the real path of each file, the digest
of its trusted objects. A file that is moved, or whose objects change, has to be trusted anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from .errors import EngineError
from .places import config_folder, own_lock, read_own, write_own


def store() -> Path:
    """The path of `trust.json`."""
    return config_folder() / "trust.json"


def trusted(path: Path) -> str | None:
    """The digest of the trusted objects in the file at `path`; None where nothing is trusted."""
    found = _read().get(os.path.realpath(path))
    return found if isinstance(found, str) else None


def remember(path: Path, digest: str | None) -> None:
    """Trust the objects with this digest in the file at `path`, or nothing for None.

    Raises `EngineError` (500) where `trust.json` cannot be written.
    """
    try:
        with own_lock(store()):
            known = {place: value for place, value in _read().items() if place != os.path.realpath(path)}
            if digest is not None:
                known[os.path.realpath(path)] = digest
            write_own(store(), (json.dumps(known, indent=2, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise EngineError(f"{store()}: cannot be written ({error.strerror or error}); nothing was changed") from error


def _read() -> dict[str, object]:
    try:
        found = json.loads(read_own(store()) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
