"""`engine runs`, `show` and `log`: show runs, their prompts, turns and commands."""

from __future__ import annotations

from typing import Annotated

import typer

from .printing import one_line, print_json, print_table, print_text
from .shared import DbOption, JsonOption, RunArgument, open_to_read, run_or_latest

# The columns of the table of turns under short names; in tokens, US dollars and milliseconds.
_FIGURES = {
    "turn": "turn",
    "status": "status",
    "commands": "commands",
    "errors": "errors",
    "strikes": "strikes",
    "context": "context_tokens",
    "in": "prompt_tokens",
    "out": "completion_tokens",
    "cost": "cost",
    "ms model": "ms_model",
    "ms engine": "ms_engine",
}


def runs(as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the runs of the database, the latest first. Times are UTC.

    \b
    Examples:
      engine runs
      engine runs --json | jq -r '.[].run'
    """
    with open_to_read(db) as database:
        rows = database.rows(
            "select o.* from run_overview as o join runs as r on r.alias = o.run order by r.updated_at desc, r.id desc"
        )
        if as_json:
            print_json(rows)
            return
        columns = ("run", "status", "loops", "turns", "cost", "updated_at", "answer")
        print_table(rows, columns, "no runs yet; 'engine run PROMPT' starts one")


def show(run: RunArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Show a run: its prompts, answers and turns.

    Each turn has its tokens, its cost in US dollars and its time in milliseconds.

    \b
    Examples:
      engine show
      engine show demo --json
    """
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        about = database.row("select * from run_overview where run = ?", (alias,)) or {}
        loops = database.rows("select * from loop_list where run = ? order by loop", (alias,))
        turns = database.rows("select * from turn_timeline where run = ? order by turn", (alias,))
        if as_json:
            print_json({**about, "prompts": loops, "timeline": turns})
            return
        name = database.value("select name from statuses where code = ?", (about["status"],))
    print_text(f"{alias}: {about['status']} {name}")
    for key in ("project", "model", "parent", "created_at", "updated_at"):
        if about[key] is not None:
            print_text(f"  {key.removesuffix('_at'):8} {about[key]}")
    for loop in loops:
        print_text(f"\n[{loop['mode']}] {one_line(loop['prompt'], 200)}")
        reason = f" ({one_line(loop['reason'], 200)})" if loop["reason"] else ""
        print_text(f"{loop['status']}{reason} {loop['answer'] or ''}".rstrip())
    if turns:
        print_text("")
        shown = [{short: turn[name] for short, name in _FIGURES.items()} for turn in turns]
        print_table(shown, _FIGURES, "")


def log(
    run: RunArgument = None,
    turn: Annotated[int | None, typer.Option("--turn", metavar="N", help="Only this turn.")] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print the commands of a run with their results.

    \b
    Examples:
      engine log
      engine log demo --turn 2
      engine log --json | jq '.[] | select(.status >= 400)'
    """
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        rows = database.rows(
            "select * from run_log where run = ? and (? is null or turn = ?) order by turn, ordinal",
            (alias, turn, turn),
        )
    if as_json:
        print_json(rows)
    else:
        print_table(rows, ("turn", "writer", "status", "action", "target", "body"), f"{alias}: nothing was logged")
