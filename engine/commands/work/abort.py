"""`engine abort`: aborts the active prompt of a run, also in another process."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import open_existing
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import LATEST_UNFINISHED, is_unfinished, run_or_latest
from engine.terminal.printing import print_json, say

_STANDS = """
    select r.status, (select count(*) from loop_list as l where l.run = r.alias and l.status = 100) as queued
    from runs as r
    where r.alias = ?
"""
"""The status of a run, and its prompts that are in line."""
_IS_OPEN = "select 1 from open_prompts where run = ? and loop = ?"
_KEEPS = "select 1 from _kept_processes as k join tree_runs as t on t.run_id = k.run_id where t.top = ?"


def abort(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run; default: the latest unfinished run.", autocompletion=complete_run),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="The reason; it is stored with the prompt.")
    ] = "aborted",
    loop: Annotated[
        int | None,
        typer.Option(
            "--loop", metavar="N", help="End only prompt number N, whether it is queued or active.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Abort the active prompt of a run, even if another process runs it.

    The background commands of the prompt are stopped, too. Queued prompts stay queued; --loop removes a queued prompt.

    --json prints the run, whether a prompt was aborted, the status of the run, and the number of queued prompts.

    \b
    Examples:
      engine abort
      engine abort demo --reason "wrong folder"
      engine abort demo --loop 3
      engine abort demo --json
    """
    with open_existing(db) as database:
        alias = run_or_latest(database, run, LATEST_UNFINISHED)
        if loop is None:
            busy = is_unfinished(database, alias) or bool(database.value(_KEEPS, (alias,)))
        else:
            busy = bool(database.value(_IS_OPEN, (alias, loop)))
        if busy or loop is not None:
            database.abort(alias, reason, loop=loop)
        if as_json:
            print_json({"run": alias, "aborted": busy, **(database.row(_STANDS, (alias,)) or {})})
        elif busy:
            say(f"{alias}: aborted" if loop is None else f"{alias}: ended prompt {loop}")
        elif loop is not None:
            say(f"{alias}: prompt {loop} has already ended")
        else:
            say(f"{alias} has no active prompt, so nothing was aborted")
