"""`engine fork`: copies a run to a new one."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.completion import complete_run, complete_turn
from engine.cli.databases import open_existing
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import fork_point, run_or_latest


def fork(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN[@N]",
            help="The run to copy, and a turn of it; default: the latest run.",
            autocompletion=complete_run,
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at",
            metavar="N",
            min=1,
            help="Copy the run as it was when the packet of turn N was sent; default: as it is now.",
            autocompletion=complete_turn,
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="The name of the copy.")] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Copy a run to a new run, and print the name of the copy. Afterwards the two runs are independent.

    \b
    Examples:
      engine fork demo --as second-try
      engine fork demo@3
      engine run --run "$(engine fork demo --at 3)" "Try it without the cache"
    """
    from engine.terminal.printing import print_json, print_text

    run, turn = fork_point(run) if run is not None else (None, None)
    if turn is not None and at is not None:
        raise typer.BadParameter(
            f"the turn is given twice, with --at and in {run}@{turn}; leave one out", param_hint="--at"
        )
    at = at if turn is None else turn
    with open_existing(db) as database:
        child = database.fork(run_or_latest(database, run), name, at)
        if as_json:
            parent = database.value("select parent from run_overview where run = ?", (child,))
            print_json({"run": child, "parent": parent, "at": at})
        else:
            print_text(child)
