"""What this user trusts: objects of others in a file, and a whole file that would act.

Objects are kept in `trust.json` in the user's configuration folder, not in the file: for the real path of each file, the
digest of its trusted objects. A file that is moved, or whose objects change, has to be trusted anew. Files are kept by
`engine.trust.known_files`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engine.db.database import Store
from engine.errors import EngineError
from engine.schema.registration import system_clock
from engine.system.places import config_folder, own_lock, read_own, write_own
from engine.trust import known_files

if TYPE_CHECKING:
    from engine.schema.update import Admit, Trust


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


def acts_of(path: Path, trust: Trust) -> list[known_files.Act]:
    """What the file at `path` would do if it were driven; nothing of one that is known. The file stays as it is.

    `trust` is that of `engine.open`; raises like it.
    """
    found: list[known_files.Act] = []

    def look(connection: apsw.Connection) -> None:
        found.extend(known_files.acts_of_unknown(connection, path))
        raise _Looked

    with suppress(_Looked):
        _opened(path, trust, look)
    return found


def know(path: Path, trust: Trust, agreed: Sequence[known_files.Act]) -> None:
    """Let the file at `path` act, if what it would do is what was agreed to.

    Raises `Conflict` (409) where it is something else, and like `engine.open`.
    """
    _opened(path, trust, partial(known_files.admit_agreed, path=path, agreed=agreed))


def forget(path: Path) -> None:
    """Trust nothing in the file at `path` any more."""
    with Store(path, synchronous="FULL", read_only=True, clock=system_clock) as db:
        known_files.forget(db.connection, path)
    remember(path, None)


class _Looked(BaseException):
    """Nothing is to be written."""


def _opened(path: Path, trust: Trust, admit: Admit) -> None:
    Store(path, synchronous="FULL", read_only=False, clock=system_clock, trust=trust, admit=admit).close()


def _read() -> dict[str, object]:
    try:
        found = json.loads(read_own(store()) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
