"""`engine resume`, `abort` and `fork`: commands about an existing run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .completing import complete_run, complete_turn
from .driving import drive, say_nothing_to_resume
from .exits import NOTHING_TO_DO
from .printing import say
from .shared import (
    DbOption,
    JsonOption,
    KeepOutputOption,
    KeyFromOption,
    WaitOption,
    fork_point,
    open_existing,
    run_or_latest,
    use_keys,
)

if TYPE_CHECKING:
    from engine.api.database import Database


_STANDS = """
    select r.status, (select count(*) from loop_list as l where l.run = r.alias and l.status = 100) as queued
    from runs as r
    where r.alias = ?
"""
"""The status of a run, and its prompts that are in line."""
_IS_OPEN = "select 1 from open_prompts where run = ? and loop = ?"
_KEEPS = "select 1 from _kept_processes as k join tree_runs as t on t.run_id = k.run_id where t.top = ?"


def resume(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run; default: the latest unfinished.", autocompletion=complete_run),
    ] = None,
    max_turns: Annotated[
        int | None,
        typer.Option(
            "--max-turns",
            metavar="N",
            min=1,
            help="Raise the limit of turns, and continue a prompt that it stopped.",
            show_default=False,
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            "--max-seconds",
            metavar="N",
            min=0,
            help="Raise the limit of seconds, and continue a prompt that it stopped.",
            show_default=False,
        ),
    ] = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept every proposal.")] = False,
    key_from: KeyFromOption = None,
    keep_output: KeepOutputOption = None,
    wait: WaitOption = True,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Continue a run that stopped before its end.

    Use it after an interruption, after you decided on a proposal, or if prompts are queued. An aborted prompt stays
    aborted. To continue a prompt that a limit stopped, raise the limit with --max-turns or --max-seconds. The exit code is 7
    if there is nothing to resume.

    \b
    Examples:
      engine resume
      engine resume demo --yolo
      engine resume demo --max-turns 16
    """
    from engine.driving import runs
    from engine.processes.kept_output import opened as output_file

    with open_existing(db) as database:
        use_keys(database, key_from)
        limited = max_turns is not None or max_seconds is not None
        alias = run_or_latest(database, run) if run or limited else _unfinished(database)
        if alias and limited:
            runs.extend(database, alias, max_turns, max_seconds)
        if alias is None or not _step(database, alias):
            say_nothing_to_resume(database, alias, db)
            raise typer.Exit(NOTHING_TO_DO)
        with output_file(database, keep_output, alias) as kept:
            drive(database, alias, None, given=db, yolo=yolo, as_json=as_json, kept=kept, wait=wait)


def abort(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run; default: the latest unfinished.", autocompletion=complete_run),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; it is stored with the prompt.")
    ] = "aborted",
    loop: Annotated[
        int | None,
        typer.Option("--loop", metavar="N", help="End only prompt number N, queued or active.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Abort the active prompt of a run, also in another process.

    Its background commands are stopped as well. Queued prompts stay; --loop ends one of them.

    JSON has the run, whether a prompt was aborted, the run's status, and the number of queued prompts.

    \b
    Examples:
      engine abort
      engine abort demo --reason "wrong folder"
      engine abort demo --loop 3
      engine abort demo --json
    """
    from .printing import print_json

    with open_existing(db) as database:
        alias = run_or_latest(database, run, _UNFINISHED)
        if loop is None:
            busy = bool(_step(database, alias)) or bool(database.value(_KEEPS, (alias,)))
        else:
            busy = bool(database.value(_IS_OPEN, (alias, loop)))
        if busy or loop is not None:
            database.abort(alias, reason, loop=loop)
        if as_json:
            print_json({"run": alias, "aborted": busy, **(database.row(_STANDS, (alias,)) or {})})
        elif busy:
            say(f"{alias}: aborted" if loop is None else f"{alias}: ended prompt {loop}")
        elif loop is not None:
            say(f"{alias}: prompt {loop} has ended already")
        else:
            say(f"{alias} is not doing anything; nothing was aborted")


def fork(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN[@N]", help="The run to fork, and the turn; default: the latest.", autocompletion=complete_run
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="N", min=1, help="As turn N was sent; default: as it is.", autocompletion=complete_turn
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="The name of the fork.")] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Copy a run to a new one, and print its name. From then on the two runs are independent.

    \b
    Examples:
      engine fork demo --as second-try
      engine fork demo@3
      engine run --run "$(engine fork demo --at 3)" "Try it without the cache"
    """
    from .printing import print_json, print_text

    run, turn = fork_point(run) if run is not None else (None, None)
    if turn is not None and at is not None:
        raise typer.BadParameter(f"says a turn, and RUN is {run}@{turn}; give one of the two", param_hint="--at")
    at = at if turn is None else turn
    with open_existing(db) as database:
        child = database.fork(run_or_latest(database, run), name, at)
        if as_json:
            parent = database.value("select parent from run_overview where run = ?", (child,))
            print_json({"run": child, "parent": parent, "at": at})
        else:
            print_text(child)


def _step(db: Database, run: str) -> str | None:
    """The next step of a run; None where it has ended."""
    step = db.value("select step from next_steps where run = ?", (run,))
    return None if step == "end" else str(step)


_UNFINISHED = """
    select n.run
    from next_steps as n
    where n.step <> 'end'
    order by n.run_id in (select c.run_id from children as c), n.run_id desc
    limit 1
"""
"""A parent goes before its children, which it drives."""


def _unfinished(db: Database) -> str | None:
    found = db.value(_UNFINISHED)
    return None if found is None else str(found)
