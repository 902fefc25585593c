"""`engine resume`: continues a run that stopped before its end."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import open_existing, use_keys
from engine.cli.options import (
    DbOption,
    JsonOption,
    KeepOutputOption,
    KeyFromOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    OutputOption,
    WaitOption,
)
from engine.cli.run_argument import is_unfinished, latest_unfinished, run_or_latest
from engine.terminal.driver import drive
from engine.terminal.exit_codes import NOTHING_TO_DO
from engine.terminal.next_commands import say_nothing_to_resume
from engine.terminal.output_forms import output_form


def resume(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run; default: the latest unfinished run.", autocompletion=complete_run),
    ] = None,
    max_turns: Annotated[
        int | None,
        typer.Option(
            "--max-turns",
            metavar="N",
            min=1,
            help="Set a new limit of turns, and continue a prompt that the old limit stopped.",
            show_default=False,
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            "--max-seconds",
            metavar="N",
            min=0,
            help="Set a new limit of seconds, and continue a prompt that the old limit stopped.",
            show_default=False,
        ),
    ] = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    max_calls: MaxCallsOption = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept every proposal.")] = False,
    key_from: KeyFromOption = None,
    keep_output: KeepOutputOption = None,
    wait: WaitOption = True,
    output: OutputOption = "text",
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Continue a run that stopped before its end.

    Use it after an interruption, after a decision on a proposal, or to run queued prompts. Aborted prompts are not
    continued. If a limit stopped the prompt, raise that limit, for example with --max-turns or --max-cost. If a limit of
    the day stopped it, resume it on the next day. The exit code is 7 if there is nothing to resume.

    \b
    Examples:
      engine resume
      engine resume demo --yolo
      engine resume demo --max-turns 16
      engine resume demo --max-cost 1
    """
    from engine.contract import Limits
    from engine.driving import runs
    from engine.processes.kept_output import opened as output_file

    lines, as_json = output_form(output, as_json)
    with open_existing(db) as database:
        use_keys(database, key_from)
        limits = Limits(
            max_turns=max_turns, max_seconds=max_seconds, max_cost=max_cost, max_tokens=max_tokens, max_calls=max_calls
        )
        limited = any(limit is not None for limit in limits.values())
        alias = run_or_latest(database, run) if run or limited else latest_unfinished(database)
        if alias:
            runs.extend(database, alias, limits)
        if alias is None or not is_unfinished(database, alias):
            say_nothing_to_resume(database, alias, db)
            raise typer.Exit(NOTHING_TO_DO)
        with output_file(database, keep_output, alias) as kept:
            drive(database, alias, None, given=db, yolo=yolo, as_json=as_json, lines=lines, kept=kept, wait=wait)
