"""`engine runs output`: print what a shell command of a run prints, also while another process drives the run, or end
it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_path
from engine.cli.databases import open_existing, open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.path_argument import stored_path
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.display.demo_mode import hidden
from engine.terminal.printing import print_json_text, say, visible

if TYPE_CHECKING:
    from pathlib import Path

    from engine.api.database import Database
    from engine.processes.outputs import Output
    from engine.processes.streaming import Ended


def output(
    run: RunArgument = None,
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            help="The output or log entry; default: the running command, else the last command.",
            autocompletion=complete_path,
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new output until the command ends.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop the command.")] = False,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="With --cancel: the reason, which the model reads.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print a shell command's output, or stop it.

    The output that the command wrote to stderr goes to stderr. PATH is one output (sh://…), or the log entry of the
    command (log://…) for both outputs.

    With --follow, Ctrl-C stops the printing; the shell command continues. On a terminal, control characters are shown
    as escapes. A pipe gets the exact text. With --json each line is an object with path, channel, text and left_out.
    The last line has state, outcome and exit_code.

    \b
    Examples:
      engine runs output demo --follow
      engine runs output demo sh://turn_1/npm_start_1 --follow
      engine runs output demo log://turn_1/sh/npm_start --json
      engine runs output demo sh://turn_1/npm_start_1 --cancel --reason "wrong port"
    """
    from engine.processes.streaming import end_of

    if reason is not None and not cancel:
        raise typer.BadParameter("works only with --cancel", param_hint="--reason")
    if cancel and path is None:
        raise typer.BadParameter("give the PATH of the command to stop", param_hint="PATH")
    path = stored_path(path)
    if cancel and path is not None:
        _cancel(db, run, path, reason)
        if not follow:
            return
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        path = path or _latest(database, alias)
        try:
            for piece in database.output(alias, path, follow=follow):
                _print(piece, as_json=as_json)
        except KeyboardInterrupt:
            say()
            say("stopped printing; the shell command still runs", dim=True)
            return
        _say_end(end_of(database, alias, path), as_json=as_json)


def _latest(db: Database, run: str) -> str:
    """The log entry of the shell command of a run that works, else of its last; raises `NotFound` (404) without any."""
    from engine.errors import NotFound

    path = db.value(
        "select m.log_path from runs as r join effects as f on f.run_id = r.id and f.kind = 'process' "
        "join commands as m on m.id = f.command_id where r.alias = ? and m.log_path is not null "
        "order by f.id not in (select effect_id from _unfinished_processes), f.id desc limit 1",
        (run,),
    )
    if path is None:
        raise NotFound(f"run {run!r}: it has run no shell command")
    return str(path)


def _cancel(db: Path | None, run: str | None, path: str, reason: str | None) -> None:
    from engine.system.user import user_name

    with open_existing(db) as database:
        database.cancel(run_or_latest(database, run), path, reason=reason, by=user_name())
    say(f"{visible(path)}: will be stopped", dim=True)


def _print(piece: Output, *, as_json: bool) -> None:
    if as_json:
        print_json_text(json.dumps(piece, ensure_ascii=False))
        sys.stdout.flush()
        return
    if piece["left_out"]:
        say("[… some of the output was not stored …]", dim=True)
    stream = sys.stdout if piece["channel"] == 1 else sys.stderr
    stream.write(visible(piece["text"]) if stream.isatty() else hidden(piece["text"]))
    stream.flush()


def _say_end(end: Ended | None, *, as_json: bool) -> None:
    if as_json and end is not None:
        print_json_text(json.dumps(end._asdict()))
    elif end is None:
        say("the command still runs; --follow waits for its end", dim=True)
    else:
        code = "" if end.exit_code is None else f", exit code {end.exit_code}"
        why = f": {visible(end.outcome)}" if end.outcome and not end.outcome.startswith("exit:") else ""
        say(f"ended{why}{code}", dim=True)
