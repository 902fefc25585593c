"""What this user trusts: which objects of others in which file, kept in the user's own store and never in the file.

The store is `trust.json` in the user's configuration folder: the path of each file, with all links resolved, and the digest
of what in it is trusted. A file that is moved or gets other objects has to be trusted anew.
"""

from __future__ import annotations

import json
from pathlib import Path

from .errors import EngineError
from .places import config_folder, read_own, write_own


def store() -> Path:
    """Where it is kept."""
    return config_folder() / "trust.json"


def trusted(path: Path) -> str | None:
    """The digest of what is trusted in the file at `path`; None for nothing."""
    found = _read().get(str(path.resolve()))
    return found if isinstance(found, str) else None


def remember(path: Path, digest: str | None) -> None:
    """Trust the objects with that digest in the file at `path`, None for nothing; raises `EngineError` (500)."""
    known = {place: value for place, value in _read().items() if place != str(path.resolve())}
    if digest is not None:
        known[str(path.resolve())] = digest
    try:
        write_own(store(), (json.dumps(known, indent=2, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise EngineError(f"{store()}: cannot be written ({error.strerror or error}); nothing was changed") from error


def _read() -> dict[str, object]:
    try:
        found = json.loads(read_own(store()) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
