"""`engine runs`, `show` and `log`: show runs, their prompts, turns and commands."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.functions.counts import counted

from .completing import complete_label, complete_turn
from .naming import called, with_labels
from .printing import cost_cell, costs, dollars, one_line, print_json, print_table, print_text, say, visible
from .rule_lines import rule_lines, rules_of_run
from .shared import DbOption, JsonOption, RunArgument, db_flag, is_alone, open_to_read, run_or_latest
from .story import print_story, story
from .undriven import say_undriven, undriven
from .wrapping import line_width, wrapped

# The columns of the table of turns under short names; in tokens, US dollars and milliseconds.
_FIGURES = {
    "turn": "turn",
    "began": "created_at",
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
_SPARED = ("ms engine", "strikes", "ms model", "commands")
"""What a narrow terminal lacks of them first."""
_SPARED_OF_RUNS = ("loops", "turns", "updated_at")
_TITLE = 30
"""Characters of a title in the list of runs."""


# The runs by tree: the latest tree first, in it each run before those below it.
_RUNS = """
    select o.*, r.role, r.depth
    from runs as r
    join run_overview as o on o.run = r.alias
    left join children as c on c.run_id = r.id
    join runs as t on t.id = coalesce(c.root_run_id, r.id)
    where (:archived or t.archived_at is null)
        and (:label is null or exists (select 1 from json_each(coalesce(t.labels, '[]')) as l where l.value = :label))
    order by t.updated_at desc, t.id desc, (
        select group_concat(printf('%010d', value), '/')
        from json_each('[' || replace(trim(coalesce(c.lineage, '/') || r.id, '/'), '/', ',') || ']')
    )
"""
_BELOW = """
    select t.tree, r.role, o.*
    from tree_runs as t
    join run_overview as o on o.run = t.run
    join runs as r on r.id = t.run_id
    where t.top = ? and t.level > 0
    order by t.run_id
"""


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


def runs(
    context: typer.Context,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="LABEL", help="Only runs that have it.", autocompletion=complete_label),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Also the runs that were archived.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List, name, archive and remove runs. Without a command it lists them, the latest first.

    Child runs are listed below their parent, and tree_cost includes them. A run without a title shows the start of its
    first prompt. Times are UTC. If a run was interrupted, the last line shows the command that resumes it; in JSON it is
    resumable.

    \b
    Examples:
      engine runs
      engine runs --label q3
      engine runs --json | jq -r '.[].run'
      engine runs rename gpt_5_1124_101500 billing
    """
    if not is_alone(context, label, archived, as_json, db):
        return
    with open_to_read(db) as database:
        rows = database.rows(_RUNS, {"archived": archived, "label": label})
        left = undriven(database)
        if as_json:
            stopped = {row["run"] for row in left}
            print_json([{**with_labels(row), "resumable": row["run"] in stopped} for row in rows])
            return
        names = dict(database.tuples("select code, name from statuses"))
        for row in rows:
            row["run"] = "> " * row["depth"] + row["run"]
            row["status"] = names[row["status"]]
            row["cost"] = cost_cell(row["cost"])
            row["tree_cost"] = cost_cell(row["tree_cost"])
            row["title"] = one_line(called(row), _TITLE)
        tree = ("tree_cost",) if any(row["depth"] for row in rows) else ()
        columns = ("run", "status", "loops", "turns", "cost", *tree, "updated_at", "title", "answer")
        none = "no such runs" if label or database.value("select 1 from runs") else "no runs yet"
        print_table(rows, columns, f"{none}; 'engine run PROMPT' starts one", spared=_SPARED_OF_RUNS)
        say_undriven(left, db)


def show(run: RunArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Show a run: its prompts, answers, rules, turns and decisions.

    Each turn has its tokens, its cost in US dollars and its time in milliseconds. Times of day are UTC.

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
        below = database.rows(_BELOW, (alias,))
        decisions = database.rows("select * from decisions where run = ? order by decided, proposal_id", (alias,))
        left = undriven(database, alias)
        if as_json:
            about["resumable"] = bool(left)
            about["rules"] = rules_of_run(database, alias)
            print_json(
                {**with_labels(about), "prompts": loops, "timeline": turns, "decisions": decisions, "below": below}
            )
            return
        rules = rule_lines(database, alias)
        names = dict(database.tuples("select code, name from statuses"))
        # 202 while the run waits for a decision; a file of another build may lack the view
        query = "select loop, status from open_prompts where run = ?"
        stands = {} if database.differs else dict(database.tuples(query, (alias,)))
    print_text(f"{alias}: {names[about['status']]}")
    if title := called(about):
        print_text(f"  title    {one_line(title, 1_000)}{' (archived)' if about.get('archived_at') else ''}")
    for key in ("project", "model", "parent", "created_at", "updated_at"):
        if about[key] is not None:
            print_text(f"  {key.removesuffix('_at'):8} {one_line(about[key], 1_000)}")
    for name, text in rules.items():
        print_text(f"  {name:8} {one_line(text, 1_000)}")
    for loop in loops:
        print_text("")
        reason = f" ({one_line(loop['reason'], 200)})" if loop["reason"] not in (None, "rejected") else ""
        told = f"{names[stands.get(loop['loop'], loop['status'])]}{reason}: {visible((loop['answer'] or '').rstrip())}"
        for text in (f"[{loop['mode']}] {one_line(loop['prompt'], 200)}", told.removesuffix(": ")):
            # indented, so that no line of an answer looks like one of the screen's own
            for line in wrapped(text, line_width(), "", "  "):
                typer.echo(line.rstrip())
    day = about["created_at"].partition(" ")[0] + " "  # of that day, a time is enough
    if turns:
        print_text("")
        shown = [{short: turn[name] for short, name in _FIGURES.items()} for turn in turns]
        for figures in shown:
            figures["cost"] = cost_cell(figures["cost"])
            figures["began"] = figures["began"].removeprefix(day)
        print_table(shown, _FIGURES, "", spared=_SPARED)
    if below:
        print_text("")
        shown = [{**row, "cost": cost_cell(row["cost"])} for row in below]
        print_table(shown, ("tree", "role", "model", "status", "turns", "cost", "answer"), "")
        turns_below = sum(row["turns"] for row in below)
        print_text(
            f"with the runs below it: {counted(about['turns'] + turns_below, 'turn')}, {dollars(about['tree_cost'])}"
        )
    if decisions:
        print_text("")
        shown = [{**row, "decided": row["decided"].removeprefix(day)} for row in decisions]
        print_table(shown, ("decided", "turn", "decision", "decided_by", "kind", "target"), "")
    say_undriven(left, db)


def log(
    run: RunArgument = None,
    turn: Annotated[
        int | None, typer.Option("--turn", metavar="N", help="Only this turn.", autocompletion=complete_turn)
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show outputs whole, not only their ends.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print a run as a story: the prompt, what was done, the answer.

    Edits have the lines that they added and removed, processes their exit code and the end of what they printed. JSON has
    the commands with their results, as the view run_log.

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
    print_story(rows, alias, db_flag(db), full=full)
    if about:
        print_text(f"cost: {costs(about['cost'], about['tree_cost'])}")
    say_undriven(left, db)
