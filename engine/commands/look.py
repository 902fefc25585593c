"""`engine runs`, `show` and `log`: show runs, their prompts, turns and commands.

spec: @list_of_runs
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.functions.counts import counted

from .completing import complete_label, complete_turn
from .moments import local
from .naming import called, with_labels
from .printing import cost_cell, costs, dollars, one_line, print_json, print_table, print_text, say, visible
from .rule_lines import rule_lines, rules_of_run
from .several import list_runs
from .shared import DbOption, JsonOption, RunArgument, db_flag, is_alone, open_to_read, run_or_latest, status_words
from .story import print_story, story
from .undriven import say_undriven, undriven
from .wrapping import line_width, wrapped

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

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
_SPARED_OF_RUNS = ("loops", "turns", "updated")
_TITLE = 30
"""Characters of a title in the list of runs."""


# The runs by tree: the latest trees first, in each a run before those below it.
_CHOSEN = """
    with trees as (
        select r.id, coalesce(c.root_run_id, r.id) as top_id, coalesce(c.lineage, '/') || r.id as lineage
        from runs as r
        left join children as c on c.run_id = r.id
    ),
    chosen as (
        select t.id, t.updated_at
        from runs as t
        where (:archived or t.archived_at is null)
            and (:label is null or exists (select 1 from json_each(coalesce(t.labels, '[]')) as l where l.value = :label))
            and (:search is null or t.id in (
                select s.top_id
                from trees as s
                join runs as r on r.id = s.id
                join run_overview as o on o.run = r.alias
                where instr(
                    lower(o.run || ' ' || coalesce(o.title, '') || coalesce(o.labels, '') || coalesce(o.answer, '')),
                    lower(:search)
                )
            ))
    )
"""
_RUNS = f"""{_CHOSEN}
    select o.*, r.role, r.depth
    from (select * from chosen order by updated_at desc, id desc limit :limit) as t
    join trees as s on s.top_id = t.id
    join runs as r on r.id = s.id
    join run_overview as o on o.run = r.alias
    order by t.updated_at desc, t.id desc, (
        select group_concat(printf('%010d', value), '/')
        from json_each('[' || replace(trim(s.lineage, '/'), '/', ',') || ']')
    )
"""  # noqa: S608 - ours
_COUNT = f"{_CHOSEN} select count(*) from chosen"  # noqa: S608 - ours
_LATEST = 20
"""Runs that are listed, each with those below it."""
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
        typer.Option("--label", metavar="LABEL", help="Only runs with this label.", autocompletion=complete_label),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option("--search", metavar="TEXT", help="Only runs whose name, title, label or answer contains TEXT."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", metavar="N", min=1, help="List the latest N; default: 20.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List every run.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Include archived runs.")] = False,
    places: Annotated[
        list[Path] | None,
        typer.Option(
            "--in",
            metavar="PATH",
            help="List the runs of this database, or of every database in this folder. May be repeated.",
            show_default=False,
        ),
    ] = None,
    utc: Annotated[bool, typer.Option("--utc", help="Show full times in UTC.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List, name, archive and remove runs. Without a command it lists the latest 20.

    Child runs are listed below their parent, and tree_cost includes them. A run without a title shows the start of its
    first prompt. If a run was interrupted, the last line shows the command that resumes it. JSON has every run unless you
    give --limit, times in UTC, and "resumable" for a run that was interrupted.

    \b
    Examples:
      engine runs
      engine runs --all --search invoice
      engine runs --label q3
      engine runs --in data/ --in other.db
      engine runs --json | jq -r '.[].run'
      engine runs rename gpt_5_1124_101500 billing
    """
    if not is_alone(context, label, search, limit, everything, archived, places, utc, as_json, db):
        return
    if everything and limit is not None:
        raise typer.BadParameter("--all lists every run; leave --limit out", param_hint="--limit")
    chosen = {"archived": archived, "label": label, "search": search}
    most = -1 if everything or (as_json and limit is None) else limit or _LATEST

    def listed(database: Database) -> list[Row]:
        rows = database.rows(_RUNS, {**chosen, "limit": most})
        return _for_programs(database, rows) if as_json else _for_people(database, rows, utc=utc)

    if places:
        list_runs(places, db, listed, as_json=as_json)
        return
    with open_to_read(db) as database:
        rows = listed(database)
        if as_json:
            print_json(rows)
            return
        left = undriven(database)
        tree = ("tree_cost",) if any(row["depth"] for row in rows) else ()
        columns = ("run", "status", "loops", "turns", "cost", *tree, "updated", "title", "answer")
        none = "no such runs" if label or search or database.value("select 1 from runs") else "no runs yet"
        print_table(rows, columns, f"{none}; 'engine run PROMPT' starts one", spared=_SPARED_OF_RUNS)
        if most > 0 and (left_out := database.value(_COUNT, chosen) - most) > 0:
            say(f"{counted(left_out, 'older run')}: 'engine runs --all' lists every run", dim=True)
        say_undriven(left, db)


def _for_programs(database: Database, rows: list[Row]) -> list[Row]:
    stopped = {row["run"] for row in undriven(database)}
    return [{**with_labels(row), "resumable": row["run"] in stopped} for row in rows]


def _for_people(database: Database, rows: list[Row], *, utc: bool) -> list[Row]:
    names = status_words(database)
    for row in rows:
        row["run"] = "> " * row["depth"] + row["run"]
        row["status"] = names[row["status"]]
        row["cost"] = cost_cell(row["cost"])
        row["tree_cost"] = cost_cell(row["tree_cost"])
        row["title"] = one_line(called(row), _TITLE)
        row["updated"] = local(row["updated_at"], utc=utc)
    return rows


def show(run: RunArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Show a run: its prompts, answers, rules, turns and decisions.

    For each turn you see its tokens, its cost in US dollars and its time in milliseconds. Times are in UTC.

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
        names = status_words(database)
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
            figures["began"] = figures["began"].removeprefix(day)
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
        shown = [{**row, "decided": row["decided"].removeprefix(day)} for row in decisions]
        print_table(shown, ("decided", "turn", "decision", "decided_by", "kind", "target"), "")
    say_undriven(left, db)


def log(
    run: RunArgument = None,
    turn: Annotated[
        int | None, typer.Option("--turn", metavar="N", help="Only this turn.", autocompletion=complete_turn)
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show whole outputs, not only their last lines.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print a run as a story: the prompt, what was done, the answer.

    Edits show how many lines they added and removed. Shell commands show their exit code and the end of their output. JSON
    has the commands with their results, like the view run_log.

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
