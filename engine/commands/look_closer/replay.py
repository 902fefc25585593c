"""`engine replay`: runs a run again from its record, and shows what differs.

spec: @replay
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_model, complete_turn
from engine.cli.databases import open_existing, open_to_read, use_keys
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.functions.counts import counted
from engine.terminal.diffs import print_difference
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import dollars, print_text, say, visible

if TYPE_CHECKING:
    from engine.replay.results import Replay


def replay(
    run: RunArgument = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at",
            metavar="N",
            min=1,
            help="Start at turn N. With --model, the new model answers from turn N on.",
            autocompletion=complete_turn,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Ask this model, instead of using the recorded answers.",
            autocompletion=complete_model,
        ),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help="Replace the first prompt by TEXT.")
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Run shell commands again in a sandbox, instead of using the recorded results."),
    ] = False,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="NAME", help="Store the replayed run in the database under this name."),
    ] = None,
    key_from: Annotated[
        list[str] | None,
        typer.Option(
            "--key-from",
            metavar="PROVIDER=SOURCE",
            help="Where to read the key of a provider: env:VARIABLE or file:PATH.",
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Run a run again from its record, and show the first difference.

    The replay uses a copy of the database, and a temporary folder with the files as they were. The model's answers,
    the decisions and the results of commands come from the record. If something differs, then the engine, a rule, a
    tool, a setting or the record has changed since. Your database is changed only with --keep.

    \b
    Examples:
      engine replay
      engine replay demo --at 3
      engine replay demo --model openai/gpt-5 --keep demo-gpt-5
      engine replay demo --prompt "Fix it without a new file" --json

    \b
    Exit codes:
      0 identical, 1 different, 2 usage, 3 cannot be replayed
    """
    # whoever only reads the record need not trust the file
    acts = keep is not None or model is not None or prompt is not None or live
    with (open_existing if acts else open_to_read)(db) as database:
        use_keys(database, key_from)
        name = run_or_latest(database, run)
        done = database.replay(name, at=at, model=model, prompt=prompt, live=live, keep=keep)
    if as_json:
        print_text(done.to_json())
    else:
        _print(done)
    if not done.identical:
        raise typer.Exit(FAILED)


def _print(done: Replay) -> None:
    same = counted(done.turns, "turn")
    if (found := done.difference) is None:
        print_text(f"{done.run}: identical, {same} replayed")
    else:
        who = "" if found.run == done.run else f" of {found.run}"
        print_text(
            f"{done.run}: {same} identical, then turn {found.turn}{who} differs in the {found.kind} {found.what}"
        )
        print_difference(found.diff.splitlines())
    if done.parted is not None:
        print_text(f"cost: {dollars(done.recorded_cost)} recorded, {dollars(done.cost)} replayed")
        if done.answer is not None:
            print_text(f"answer: {done.answer}")
    for note in done.notes:
        say(f"cannot be replayed: {visible(note)}", "yellow")
    if done.kept is not None:
        say(f"kept as run {visible(done.kept)}; to compare: engine diff {visible(done.kept)}")
