"""`engine log`: a run as a story."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.completion import complete_turn
from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption, UtcOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.hints import db_flag
from engine.terminal.interrupted_runs import say_undriven, undriven
from engine.terminal.printing import costs, print_json, print_text, say

from .story import print_story, story

# Turn 0 is what people asked for before the first one.
_HAS_TURN = """
    select exists (select 1 from turn_timeline where run = :run and turn = :turn)
        or exists (select 1 from run_log where run = :run and turn = :turn)
"""

# Of a run that gave work away.
_COSTS = """
    select o.cost, o.tree_cost
    from run_overview as o
    where o.run = ? and exists (select 1 from tree_runs as t where t.top = o.run and t.level > 0)
"""


def log(
    run: RunArgument = None,
    turn: Annotated[
        int | None, typer.Option("--turn", metavar="N", help="Only this turn.", autocompletion=complete_turn)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show the whole output of commands, not only the last lines.")
    ] = False,
    utc: UtcOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print a run as a story: the prompt, what was done, the answer.

    For an edit you see how many lines it added and removed. For a shell command you see its exit code and the end of
    its output. --json prints the rows of the view run_log.

    \b
    Examples:
      engine log
      engine log demo --turn 2 --full
      engine log --json | jq '.[] | select(.status >= 400)'
    """
    from engine.errors import NotFound

    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if turn is not None and not database.value(_HAS_TURN, {"run": alias, "turn": turn}):
            raise NotFound(f"run {alias!r}: there is no turn {turn}; 'engine show {alias}' lists its turns")
        if as_json:
            print_json(
                database.rows(
                    "select * from run_log where run = ? and (? is null or turn = ?) order by turn, ordinal",
                    (alias, turn, turn),
                )
            )
            return
        rows = story(database, alias, turn, full=full)
        about = database.row(_COSTS, (alias,)) if turn is None else None
        left = undriven(database, alias) if turn is None else []
    if not rows:
        say(f"{alias}: nothing was logged")
    print_story(rows, alias, db_flag(db), full=full, utc=utc)
    if about:
        print_text(f"cost: {costs(about['cost'], about['tree_cost'])}")
    say_undriven(left, db)
