"""The file that a person names for all that the commands of a run print: whole, and out of reach of these commands.

spec: @kept_output
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import PermissionDenied, ValidationError
from engine.system.locate import FOLDER
from engine.system.own_files import OwnFiles

if TYPE_CHECKING:
    from engine.db.database import Store

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def opened(
    db: Store, path: str | PathLike[str] | None, run: str | None, root: str | PathLike[str] | None = None
) -> Iterator[KeptOutput | None]:
    """The file at `path` for the output of `run`, or of a new run in the folder `root`; None where `path` is None."""
    if path is None:
        yield None
        return
    query = "select p.root from runs as r join projects as p on p.id = r.project_id where r.alias = ?"
    with closing(KeptOutput(path, db.value(query, (run,)) or root, db.place)) as kept:
        yield kept


class KeptOutput:
    """Appends what processes print to the file at `path`, byte for byte; a line names the output that follows.

    The file is opened once, so nobody exchanges it later, and is its user's alone (0600). Raises `PermissionDenied` (403)
    for one inside `root`, where commands write, unless it lies beside `database` in the engine's own folder, which a sandbox
    hides, and `ValidationError` (400) for what is no file that can be written.
    """

    def __init__(self, path: str | PathLike[str], root: str | PathLike[str] | None, database: Path) -> None:
        self.path = Path(path)
        place = Path(os.path.realpath(self.path.parent)) / self.path.name
        own = place.parent == database.parent and place.parent.name == FOLDER
        if root is not None and not own and place.is_relative_to(os.path.realpath(root)):
            raise PermissionDenied(
                f"{self.path}: is in the working folder, where commands can write; choose a file outside of it, "
                f"or in {FOLDER}/"
            )
        if OwnFiles(database).hold(place):  # to close it would take SQLite's locks away (`descriptors`)
            raise PermissionDenied(f"{self.path}: belongs to the database; choose another file")
        try:
            self._file = os.open(place, _FLAGS, 0o600)
        except OSError as error:
            raise ValidationError(f"{self.path}: cannot be written: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise ValidationError(f"{self.path}: is not a file")
            os.fchmod(self._file, 0o600)
        except BaseException:
            os.close(self._file)
            raise
        self._source = ""
        self._lock = threading.Lock()
        self._users = 1
        self.failure: str | None = None
        """Why the file ends before the output does."""

    def write(self, source: str, data: bytes) -> None:
        """Append what `source` printed. An error is kept as `failure`: it ends the keeping, not the command."""
        with self._lock:
            if self.failure is not None:
                return
            try:
                if source != self._source:
                    self._append(f"\n==> {source} <==\n".encode())
                    self._source = source
                self._append(data)
            except OSError as error:
                self.failure = f"{self.path} could not be written: {error.strerror}"

    def hold(self) -> None:
        """Have the file stay open until one more `close`: a command that was kept still prints when its run has ended."""
        with self._lock:
            self._users += 1

    def close(self) -> None:
        """Close the file, once nobody holds it any more."""
        with self._lock:
            self._users -= 1
            if not self._users:
                os.close(self._file)

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]
