"""`engine doctor FILE…`, `engine migrate` and `engine runs purge --before`: work on several databases.

spec: @several_files
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import FAILED
from .shared import DbOption, JsonOption

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row
    from engine.maintenance.checks import Report

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE...", help="Databases, or folders of them.", show_default=False),
]


def migrate(files: FilesArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Bring databases up to date with this engine.

    A database is brought up to date by the first command that writes to it anyway. This does so for many at once, such as
    after an update. The exit code is 1 if one of them cannot be.

    \b
    Examples:
      engine migrate
      engine migrate data/*.db
      engine migrate data/
    """
    from engine.maintenance.checks import migrate as migrated

    show(map(migrated, places(files, db)), as_json=as_json)


def check_files(files: Sequence[Path], db: Path | None, *, as_json: bool) -> None:
    """Check databases and print how each is."""
    from engine.maintenance.checks import check as checked

    show(map(checked, places(files, db)), as_json=as_json)


def list_runs(
    files: Sequence[Path], db: Path | None, listed: Callable[[Database], list[Row]], *, as_json: bool
) -> None:
    """Print the runs of databases in one table, and exit with 1 if one of these cannot be read."""
    from engine.errors import EngineError

    from .printing import print_error, print_json, print_table
    from .shared import look_at

    rows: list[Row] = []
    failed = False
    for path in places(files, db):
        try:
            with look_at(path) as database:
                rows += [{"file": str(path), **row} for row in listed(database)]
        except EngineError as error:
            print_error(error.message)
            failed = True
    if as_json:
        print_json(rows)
    else:
        columns = ("file", "run", "status", "turns", "cost", "updated", "title", "answer")
        print_table(rows, columns, "no runs", spared=("turns", "updated", "cost"))
    if failed:
        raise typer.Exit(FAILED)


def places(files: Sequence[Path] | None, db: Path | None) -> list[Path]:
    """The databases that are meant: those named, else the one that a command without FILE uses."""
    from engine.maintenance.databases import databases_in
    from engine.system.locate import database_to_read

    if files and db is not None:
        raise typer.BadParameter("names a database, and so does FILE; give one of the two", param_hint="--db")
    return databases_in(files) if files else [database_to_read(db, Path.cwd())]


def show(reports: Iterator[Report], *, as_json: bool) -> None:
    """Print a table of results, and exit with 1 if one of them failed."""
    from .printing import print_json, print_table

    found = list(reports)
    if as_json:
        print_json([each._asdict() for each in found])
    else:
        rows = [
            {
                "file": each.file,
                "state": "failed" if each.fault else "ok",
                "runs": each.runs,
                "MB": each.megabytes,
                "result": each.fault or each.note,
            }
            for each in found
        ]
        print_table(rows, ("file", "state", "runs", "MB", "result"), "no database", spared=("MB", "runs"))
    if any(each.fault for each in found):
        raise typer.Exit(FAILED)


@contextmanager
def progress(verb: str) -> Iterator[Callable[[int, int, str], None]]:
    """Shows how many runs of how many are done, in one line on a terminal; elsewhere nothing."""
    import sys

    from .printing import visible

    if not sys.stderr.isatty():
        yield lambda *_: None
        return

    def tell(done: int, of: int, run: str) -> None:
        sys.stderr.write(f"\r\x1b[K{verb} {done + 1} of {of}: {visible(run)[:60]}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
