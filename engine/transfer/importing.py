"""Imports a run's file: tries it in a file of its own first, then puts it into this one.

The file may come from anybody. In a temporary file of this engine its rows are inserted, foreign keys and invariants are
asked, what it would do by itself is listed as for a file that is not known, and the run is exported again: if that is not
the same text byte for byte, the file holds something else than a run.

spec: @run_files
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engine.errors import Conflict, NotFound, PermissionDenied
from engine.packets.store import digest
from engine.project.root_names import root_names
from engine.schema.build import installed
from engine.schema.install import install
from engine.schema.registration import register
from engine.system.durable import real_path
from engine.trust.known_files import Act, acts_in, told

from .exporting import lines_of
from .inserting import free_name, insert_run
from .reading import RunFile, opened

if TYPE_CHECKING:
    from engine.db.database import Store

_NAMED = 3
"""An error names at most this many acts."""
_WORKS_IN = "update projects set root = ?, root_names = ? where id = (select project_id from runs where alias = ?)"
_INVARIANTS = "select name from sqlite_schema where type = 'view' and name glob '*invariant_*' order by name"


class ForeignRun(PermissionDenied):
    """403: a run that is imported would act by itself; `acts` says what it would do."""

    def __init__(self, path: Path, acts: list[Act]) -> None:
        self.acts: tuple[Act, ...] = tuple(acts)
        more = f", and {len(acts) - _NAMED} more" if len(acts) > _NAMED else ""
        super().__init__(
            f"{path}: {'; '.join(told(each) for each in acts[:_NAMED])}{more}; if you trust it, import it with --trust, "
            "in Python with trust=True"
        )


def import_run(db: Store, path: Path, *, name: str | None, trust: bool, root: str | None = None) -> str:
    """Put the run of a file, and those that go with it, into an engine file; returns its name there. See `RunFiles`."""
    _refuse_transaction(db, path)
    folder = None if root is None else _folder(db, root)
    with opened(path) as file:
        acts = _tried(file)
        if acts and not trust:
            raise ForeignRun(path, acts)
        with db.transaction(), db.held(), db.clear_errors:
            install(db.connection, file.modules)
            return _inserted(db.connection, file, name, folder)


def _refuse_transaction(db: Store, path: Path) -> None:
    if db.in_transaction:
        raise Conflict(f"{path}: cannot be imported inside a transaction; commit first")


def _folder(db: Store, root: str) -> str:
    """The folder in which an imported run is to work. Raises `NotFound` (404), and `Conflict` (409) if it is taken."""
    folder = real_path(root)
    if not Path(folder).is_dir():
        raise NotFound(f"{root}: no such folder")
    if db.value("select 1 from projects where root = ?", (folder,)):
        raise Conflict(
            f"{root}: is already the folder of other runs of {db.path}; give another folder, or leave out --root"
        )
    return folder


def _inserted(connection: apsw.Connection, file: RunFile, name: str | None, folder: str | None) -> str:
    taken = {str(alias) for (alias,) in connection.execute("select alias from runs")}
    if name in taken:
        raise Conflict(f"run {name}: already exists; choose another name with --name")

    def named(number: int, alias: str) -> str:
        found = name if number == file.run and name is not None else free_name(alias, taken | {name or ""})
        taken.add(found)
        return found

    alias = insert_run(connection, file, named)[file.run - 1]
    if folder is not None:
        connection.execute(_WORKS_IN, (folder, root_names(folder, [os.environ.get("PWD", "")]), alias)).fetchall()
    return alias


def _tried(file: RunFile) -> list[Act]:
    """What the runs of a file would do by themselves. Raises `ValidationError` (400) for a file that holds no run."""
    modules = {module.name for module in installed().offered}
    if unknown := [each for each in file.modules if each not in modules]:
        raise NotFound(f"{file.path}: needs the module {unknown[0]!r}, which is not installed; install its plugin")
    with closing(apsw.Connection("")) as scratch:  # in a temporary file
        installed().core.fresh.copy_to(scratch)
        register(scratch)
        scratch.execute("begin").fetchall()
        install(scratch, file.modules)
        try:
            runs = insert_run(scratch, file, lambda _, alias: alias)
            run = runs[file.run - 1]
            scratch.execute("commit").fetchall()
        except (apsw.ConstraintError, IndexError) as error:
            raise file.refused(f"its rows do not fit together ({error})") from None
        _audit(scratch, file)
        _compare(scratch, file, run)
        return acts_in(scratch)


def _audit(scratch: apsw.Connection, file: RunFile) -> None:
    for (view,) in scratch.execute(_INVARIANTS).fetchall():
        if scratch.execute(f'select 1 from "{view}" limit 1').get:  # noqa: S608 - a name of ours
            raise file.refused(f"holds no state of a run ({view})")
    for run, turn, text, sha256 in scratch.execute("select run, turn, body, sha256 from packet_texts"):
        if digest(str(text)).hex() != sha256:
            raise file.refused(f"the packet of turn {turn} of run {run} is not what was sent")


def _compare(scratch: apsw.Connection, file: RunFile, run: str) -> None:
    """Refuse what an export of the same run would not write."""
    lines = file.lines()
    try:
        for number, line in enumerate(lines_of(scratch, run), 1):
            if next(lines, b"") != line:
                raise file.wrong(number, "is not what an export of this run writes")
    except (KeyError, IndexError, TypeError, ValueError, apsw.Error) as error:
        raise file.refused(f"cannot be exported again ({error!r})") from None
