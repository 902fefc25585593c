"""`engine show`: a run with its prompts, answers, turns and decisions."""

from __future__ import annotations

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption, UtcOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.display.statuses import status_words
from engine.functions.counts import counted
from engine.terminal.interrupted_runs import say_undriven, undriven
from engine.terminal.printing import cost_cell, dollars, one_line, print_json, print_table, print_text, visible
from engine.terminal.rules import rule_lines, rules_of_run
from engine.terminal.times import clock
from engine.terminal.titles import called, with_labels
from engine.terminal.wrapping import line_width, wrapped

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
_BELOW = """
    select t.tree, r.role, o.*
    from tree_runs as t
    join run_overview as o on o.run = t.run
    join runs as r on r.id = t.run_id
    where t.top = ? and t.level > 0
    order by t.run_id
"""


# The word for what came of each turn; a turn that has ended at 102 was followed by another one.
_ENDS = """
    select t.turn, case when t.status = 102 and t.ended_at is not null then 'continued' else s.name end
    from turn_timeline as t
    join statuses as s on s.code = t.status
    where t.run = ?
"""


def show(run: RunArgument = None, utc: UtcOption = False, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Show a run: its prompts, answers, rules, turns and decisions.

    For each turn you see its tokens, its cost in US dollars and its duration in milliseconds. Times are local; with
    --utc and in JSON they are UTC.

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
        ends = dict(database.tuples(_ENDS, (alias,)))
        below = database.rows(_BELOW, (alias,))
        decisions = database.rows("select * from decisions where run = ? order by decided_at, proposal_id", (alias,))
        left = undriven(database, alias)
        if as_json:
            about["resumable"] = bool(left)
            about["rules"] = rules_of_run(database, alias)
            print_json(
                {**with_labels(about), "prompts": loops, "timeline": turns, "decisions": decisions, "below": below}
            )
            return
        rules = rule_lines(database, alias)
        names = status_words(database)
        # 202 while the run waits for a decision; a file of another build may lack the view
        query = "select loop, status from open_prompts where run = ?"
        stands = {} if database.differs else dict(database.tuples(query, (alias,)))
    for row, column in ((about, "created_at"), (about, "updated_at")):
        row[column] = clock(row[column], utc=utc)
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
        word = names[stands[loop["loop"]] if loop["loop"] in stands else loop["status"]]
        told = f"{word}{reason}: {visible((loop['answer'] or '').rstrip())}"
        for text in (f"[{loop['mode']}] {one_line(loop['prompt'], 200)}", told.removesuffix(": ")):
            # indented, so that no line of an answer looks like one of the screen's own
            for line in wrapped(text, line_width(), "", "  "):
                typer.echo(line.rstrip())
    day = about["created_at"].partition(" ")[0] + " "  # of that day, a time is enough
    if turns:
        print_text("")
        shown = [{short: turn[name] for short, name in _FIGURES.items()} for turn in turns]
        for figures in shown:
            figures["status"] = ends[figures["turn"]]
            figures["cost"] = cost_cell(figures["cost"])
            figures["began"] = clock(figures["began"], utc=utc).removeprefix(day)
        print_table(shown, _FIGURES, "", spared=_SPARED)
    if below:
        print_text("")
        shown = [{**row, "cost": cost_cell(row["cost"]), "status": names[row["status"]]} for row in below]
        print_table(shown, ("tree", "role", "model", "status", "turns", "cost", "answer"), "")
        turns_below = sum(row["turns"] for row in below)
        print_text(
            f"with the runs below it: {counted(about['turns'] + turns_below, 'turn')}, {dollars(about['tree_cost'])}"
        )
    if decisions:
        print_text("")
        shown = [{**row, "decided_at": clock(row["decided_at"], utc=utc).removeprefix(day)} for row in decisions]
        print_table(shown, ("decided_at", "turn", "decision", "decided_by", "kind", "target"), "")
    say_undriven(left, db)
