"""`engine fleet`: many files at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.options import JsonOption
from engine.functions.counts import counted
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import print_json, say, visible

from . import fleet_looks, fleet_runs

if TYPE_CHECKING:
    import pyarrow

    from engine.across.analysis import Analysis

app = typer.Typer(rich_markup_mode=None)
_NAMED = 10
"""So many files that were left out are named one by one."""


@app.callback()
def fleet() -> None:
    """Carry out many tasks, each in its own database, and query many databases at once.

    \b
    Examples:
      engine fleet run tasks.jsonl --files 'out/{id}.db' --concurrency 8
      engine fleet resume tasks.fleet.db
      engine fleet collect tasks.fleet.db --csv
      engine fleet sql "select day, model, sum(known_cost) from cost_by_day group by day, model" 'out/*.db'
    """


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The statement; - reads it from stdin.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Databases, folders, or patterns in quotes.")],
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="FILE", readable=False, help="Write the rows to a new Parquet file."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="Print at most N rows; 0: all.")] = 1_000,
    seconds: Annotated[
        float, typer.Option("--timeout", metavar="N", min=0.001, help="Stop the statement after N seconds.")
    ] = 60.0,
) -> None:
    """Run one read-only SQL statement over the views of many databases.

    Every view of 'engine sql --views' contains the rows of all files, with a column named file. The statement is in
    SQLite's dialect. If a file cannot be read, it is named on stderr, and the exit code is 1. The command needs the
    extra export.

    \b
    Examples:
      engine fleet sql "select day, model, sum(known_cost) from cost_by_day group by day, model" 'out/*.db'
      engine fleet sql "select file, run, answer from run_overview where status <> 200" out --csv
      engine fleet sql "select file, sum(turns) from run_overview group by file" out --parquet turns.parquet
    """
    import engine

    if as_json + as_csv + (parquet is not None) > 1:
        raise typer.BadParameter("choose one of --json, --csv and --parquet")
    asked = engine.analysis(files)
    found = asked.arrow(sys.stdin.read() if query == "-" else query, seconds=seconds)
    if parquet is not None:
        from engine.across.parquet import write

        write(found, parquet)
        say(f"{visible(str(parquet))}: {counted(found.num_rows, 'row')} written")
    else:
        _print(asked, found, limit, as_json=as_json, as_csv=as_csv)
    if _say_left_out(asked):
        raise typer.Exit(FAILED)


def _print(asked: Analysis, found: pyarrow.Table, limit: int, *, as_json: bool, as_csv: bool) -> None:
    from engine.across.analysis import rows_of
    from engine.db.query import Answer
    from engine.terminal.answers import print_answer, print_csv

    cut = 0 < limit < found.num_rows
    rows = rows_of(found.slice(0, limit) if cut else found)
    answer = Answer(found.column_names, [tuple(row.values()) for row in rows], cut)
    if as_json:
        print_json({"rows": rows, "files": [each._asdict() for each in asked.files]})
    elif as_csv:
        print_csv(answer)
    else:
        print_answer(answer)
    if cut:
        say(f"the first {counted(limit, 'row')} of {found.num_rows:,}; --limit 0 prints all")


def _say_left_out(asked: Analysis) -> bool:
    """Say on stderr which files are not in the answer; whether there are any."""
    in_use = sum(each.state == "in use" for each in asked.files)
    if in_use:
        say(f"{counted(in_use, 'file')} in use by other processes, read in the state of now")
    out = asked.left_out()
    for each in out[:_NAMED]:
        say(f"left out: {visible(each.file)}: {visible(each.reason or '')}", "yellow")
    if len(out) > _NAMED:
        say(f"and {counted(len(out) - _NAMED, 'more file')} left out; --json names all", "yellow")
    return bool(out)


for command in (
    fleet_runs.run,
    fleet_runs.resume,
    fleet_looks.status,
    fleet_looks.logs,
    fleet_looks.collect,
    fleet_looks.cancel,
):
    app.command()(command)
