"""The argument FILE...: commands that work on several databases, and what they print of each.

spec: @several_files
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.terminal.exit_codes import FAILED

if TYPE_CHECKING:
    from engine.maintenance.checks import Report

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE...", help="Databases, or folders that contain databases.", show_default=False),
]


def places(files: Sequence[Path] | None, db: Path | None) -> list[Path]:
    """The databases that are meant: those named, else the one that a command without FILE uses."""
    from engine.db.databases import databases_in
    from engine.system.locate import database_to_read

    if files and db is not None:
        raise typer.BadParameter("the database is given twice, with --db and as FILE; leave one out", param_hint="--db")
    return databases_in(files) if files else [database_to_read(db, Path.cwd())]


def print_reports(reports: Iterator[Report], *, as_json: bool) -> None:
    """Print a table of results, and exit with 1 if one of them failed."""
    from engine.terminal.printing import print_json, print_table

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
