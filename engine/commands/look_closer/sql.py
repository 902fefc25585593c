"""`engine sql`: runs one read-only statement."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.functions.counts import counted
from engine.terminal.answers import print_answer, print_csv
from engine.terminal.exit_codes import exit_code
from engine.terminal.printing import print_error, print_json, print_table, say

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 1_000
_GRACE_S = 2.0
_TIMEOUT = 504


def sql(
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The statement; - reads it from stdin.", show_default=False)
    ] = None,
    list_views: Annotated[
        bool, typer.Option("--views", help="List the views with their descriptions, instead of running a statement.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="Print at most N rows; 0: all.")] = LIMIT,
    seconds: Annotated[
        float, typer.Option("--timeout", metavar="N", min=0.001, help="Stop the statement after N seconds.")
    ] = 10.0,
    db: DbOption = None,
) -> None:
    """Run one read-only SQL statement. The statement cannot write, and cannot open another file.

    \b
    Examples:
      engine sql "select run, status, answer from run_overview"
      engine sql --csv "select * from turn_timeline" > turns.csv
      engine sql --json "select path, body from known_entries where scheme = 'known'"
      engine sql --views
    """
    from engine.db.query import answer

    if as_json and as_csv:
        raise typer.BadParameter("use --json or --csv, not both")
    if list_views:
        if query is not None or as_csv:
            raise typer.BadParameter("--views takes no statement and no --csv")
        _print_views(as_json, db)
        return
    if query is None:
        raise typer.BadParameter("give a statement, or --views to list the views")
    text = sys.stdin.read() if query == "-" else query
    with open_to_read(db) as database, _ended_after(seconds):
        found = answer(database, text, limit=limit or None, seconds=seconds)
    if as_json:
        print_json(found.dicts())
    elif as_csv:
        print_csv(found)
    else:
        print_answer(found)
    if found.cut:
        say(f"the first {counted(limit, 'row')}; --limit 0 prints all")


def _print_views(as_json: bool, db: Path | None) -> None:
    """Print the views of the file, one a line, with the sentence that each begins with."""
    from engine.db.view_list import views

    with open_to_read(db) as database:
        rows = [{"view": each.name, "shows": each.promise} for each in views(database)]
    if as_json:
        print_json(rows)
    else:
        print_table(rows, ("view", "shows"), "no views")


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Inside, end the process if nothing else ends the statement: one call of a function in C is not interrupted."""

    def end() -> None:
        print_error(f"a function in the query took longer than {seconds:g} s; use shorter texts")
        os._exit(exit_code(_TIMEOUT))

    timer = threading.Timer(seconds + _GRACE_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
