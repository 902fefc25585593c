"""`engine sql`: runs one read-only statement."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .printing import print_json, print_table, say, shown
from .shared import DbOption, JsonOption, open_to_read

if TYPE_CHECKING:
    from engine.query import Answer

LIMIT = 1_000


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The statement; - reads it from stdin.")],
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="Rows at most; 0: all.")] = LIMIT,
    seconds: Annotated[float, typer.Option("--timeout", metavar="N", min=0.001, help="Seconds at most.")] = 10.0,
    db: DbOption = None,
) -> None:
    """Run one read-only SQL statement. One that would write, or use another file, is refused.

    \b
    Examples:
      engine sql "select run, status, answer from run_overview"
      engine sql --csv "select * from turn_timeline" > turns.csv
      engine sql --json "select path, body from known_entries where scheme = 'known'"
    """
    from engine.query import answer

    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv")
    text = sys.stdin.read() if query == "-" else query
    with open_to_read(db) as database:
        found = answer(database, text, limit=limit or None, seconds=seconds)
    if as_json:
        print_json(found.dicts())
    elif as_csv:
        _print_csv(found)
    else:
        print_answer(found)
    if found.cut:
        say(f"the first {limit:,} rows; --limit 0 gives all")


def print_answer(found: Answer) -> None:
    """Print an answer as a table."""
    print_table(found.dicts(), found.columns, "no rows")


def _print_csv(found: Answer) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([shown(value) for value in row] for row in found.rows)
