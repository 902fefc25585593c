"""`engine plan`: the plan of a run as a tree of its steps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.path_argument import stored_path
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.printing import one_line, paint, print_json, say, visible
from engine.terminal.wrapping import line_width, wrapped

if TYPE_CHECKING:
    from engine.db.database import Row

_BOXES = {
    "done": ("[x]", "green"),
    "in_progress": ("[/]", "yellow"),
    "pending": ("[ ]", None),
    "skipped": ("[-]", "bright_black"),
}
"""How each status is drawn: as a plan writes it, and its colour."""


def plan(
    run: RunArgument = None,
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="The path of the plan; default: the current plan.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all plans of the run, the latest first.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show the plan of a run as a tree of its steps.

    Without PATH it shows the plan that the model sees now, else the latest plan. A plan is an entry with one line per
    step. '- [ ] text' is a pending step; [/] means in progress, [x] done and [-] skipped. An indented line is a part
    of the step above it.

    \b
    Examples:
      engine plan
      engine entry set demo plan://release - < plan.md
      engine plan demo plan://release
      engine plan demo --json | jq '.[].steps[] | select(.status != "done")'
    """
    from engine.errors import NotFound

    path = stored_path(path)
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        rows = database.rows(
            "select * from plans where run = ? order by plan is ? desc, is_shown desc, turn desc, plan", (alias, path)
        )
        chosen = rows if everything else [row for row in rows if path in (None, row["plan"])][:1]
        for row in chosen:
            row["open"], row["steps"] = (
                row["steps"] - row["settled"],
                database.rows(
                    "select line, depth, number, status, body from plan_steps where run = ? and plan = ? order by line",
                    (alias, row["plan"]),
                ),
            )
    if path is not None and not chosen:
        raise NotFound(f"run {alias!r} has no plan {path!r}; 'engine plan {alias} --all' lists its plans")
    if as_json:
        print_json(chosen)
    elif not chosen:
        say(f"{alias}: no plan; to write a plan yourself: engine entry set {alias} plan://NAME TEXT")
    for place, row in enumerate([] if as_json else chosen):
        if place:
            typer.echo()
        _print_plan(row)


def _print_plan(row: Row) -> None:
    steps = row["steps"]
    title = f"  {one_line(row['title'], 200)}" if row["title"] else ""
    typer.echo(f"{visible(row['plan'])}{title}  {row['settled']} of {len(steps)}")
    for step in steps:
        box, colour = _BOXES[step["status"]]
        before = "  " * min(step["depth"], 20) + box + " "
        text = one_line(step["body"], 1_000)
        for number, line in enumerate(wrapped(text, line_width(), before, " " * len(before))):
            painted = paint(box, colour, stream=sys.stdout) if number == 0 else ""
            typer.echo(line.replace(box, painted, 1) if painted else line)
