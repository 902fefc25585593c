"""Runs as files, in the Python API: export one, import one, move one.

spec: @run_files
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from engine.arguments import expects
from engine.handle import Handle

if TYPE_CHECKING:
    from os import PathLike

_TEXT = "a text or None"


class RunFiles(Handle):
    """The methods of `Database` that carry runs from file to file."""

    @expects(run="a text", path="a path")
    def export_run(self, run: str, path: str | PathLike[str]) -> str:
        """Write a run to the file `path`, with the runs below it and those that it came from; returns its SHA-256 (hex).

        The file is text, one JSON object a line, and the same for the same run wherever that lies. It has mode 0600. An
        export that `path` holds is replaced. Raises `NotFound` (404) for an unknown run, `Conflict` (409) while it is
        driven or a command of it is kept, and for a file that is no export.
        """
        from engine.transfer.writing import write_run

        return write_run(self, run, path)

    @expects(path="a path", name=_TEXT, root="a path or None", trust="True or False")
    def import_run(
        self,
        path: str | PathLike[str],
        *,
        name: str | None = None,
        root: str | PathLike[str] | None = None,
        trust: bool = False,
    ) -> str:
        """Take the run of an exported file into this one, and those that go with it; returns its name here.

        It has the name that it had, or with -2, -3, … one that is free; `name` gives it another one. It belongs to a
        project of its own, which has no folder unless `root` names one. Everything is imported or nothing. Raises `NotFound`
        (404) for no file or folder, `ValidationError` (400) for a file that is damaged or holds something else than a run,
        `Conflict` (409) for a `name` that is taken and a folder in which other runs of this file work, and
        `PermissionDenied` (403) if the run would act by itself, such as go on with a prompt, unless `trust`.
        """
        from pathlib import Path

        from engine.transfer.importing import import_run

        return import_run(self, Path(path), name=name, trust=trust, root=None if root is None else os.fspath(root))

    @expects(run="a text", name=_TEXT, root="a path or None")
    def move_run(
        self, run: str, target: Self, *, name: str | None = None, root: str | PathLike[str] | None = None
    ) -> str:
        """Move a run and those below it into the file that `target` has open; returns its name there.

        Runs that it came from stay, and are copied. The run is purged here when it is there: a kill leaves it in both files
        at most, and moving it again then ends the move. Raises what `export_run`, `import_run` and `purge` raise.
        """
        from engine.transfer.moving import move_run

        return move_run(self, run, target, name=name, root=None if root is None else os.fspath(root))
