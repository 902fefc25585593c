"""`engine workflow show`, `graph` and `list`: print workflows, and how far runs of them are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_workflow
from engine.cli.databases import database_or_fresh
from engine.cli.options import DbOption, JsonOption
from engine.display.statuses import status_words
from engine.terminal.printing import one_line, print_json, print_table, print_text, say, visible

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.workflows.graph import Step

RunOrWorkflow = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW|RUN",
        help="The file or the name of a workflow, or a workflow run.",
        autocompletion=complete_workflow,
    ),
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root", metavar="FOLDER", readable=False, help="The folder of the project; default: the current folder."
    ),
]


def show(workflow: RunOrWorkflow, root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Print the variables and steps of a workflow, or the state of each step of a workflow run.

    \b
    Examples:
      engine workflow show code-review
      engine workflow show release --json
    """
    from engine.workflows import finding as store
    from engine.workflows import lists as workflow_lists

    with database_or_fresh(db) as database:
        if _is_run(database, workflow):
            rows = store.steps(database, workflow)
            if as_json:
                print_json(rows)
                return
            shown = [{**row, "why": row["reason"] or one_line(row["answer"] or "", 60)} for row in rows]
            print_table(shown, ("step", "state", "child", "turns", "cost", "seconds", "needs", "why"), "no steps")
            return
        found = workflow_lists.described(database, store.find(database, workflow, folder_of(root)))
    if as_json:
        print_json(found)
        return
    print_text(f"{visible(found['name'])}: {visible(found['description'])}\nfrom {visible(found['source'])}")
    if found["variables"]:
        print_text("\nvariables")
        for each in found["variables"]:
            needed = (
                "required" if each["required"] else f"default {each['default']!r}" if each["default"] else "optional"
            )
            about = f": {visible(each['description'])}" if each["description"] else ""
            print_text(f"  {visible(each['name'])} ({visible(needed)}){about}")
    for each in found["steps"]:
        print_text(f"\nstep {each['id']}{': ' + visible(each['title']) if each['title'] else ''}")
        for name in ("needs", "tools"):
            if each[name] is not None and (each[name] or name == "tools"):
                print_text(f"  {name}: {visible(', '.join(each[name])) or 'none'}")
        for name in ("model", "accept", "accept_command", "accept_attempts", "accept_model"):
            if each[name]:
                print_text(f"  {name}: {one_line(each[name], 200)}")
        print_text("  " + "\n  ".join(visible(line) for line in each["instruction"].strip().splitlines()))


def graph(
    workflow: RunOrWorkflow,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write an SVG picture to FILE; - is stdout.")
    ] = None,
    root: RootOption = None,
    db: DbOption = None,
) -> None:
    """Draw the steps of a workflow or a workflow run. Steps in the same layer run at the same time.

    \b
    Examples:
      engine workflow graph code-review
      engine workflow graph release --svg release.svg
    """
    from engine.workflows.graph import as_svg, as_text

    with database_or_fresh(db) as database:
        steps = _drawn(database, workflow, root)
    if svg is None:
        print_text(as_text(steps))
    elif str(svg) == "-":
        print_text(as_svg(workflow, steps))
    else:
        svg.write_text(as_svg(workflow, steps), encoding="utf-8")
        say(f"written: {visible(str(svg))}")


def list_(root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List workflows and workflow runs. Workflows are in .agents/workflows of this folder, in
    ~/.config/engine/workflows, and built into the engine.

    \b
    Example:
      engine workflow list
    """
    from engine.workflows import lists as workflow_lists

    with database_or_fresh(db) as database:
        found = workflow_lists.listed(database, folder_of(root))
        runs = database.rows("select * from workflow_run_list order by created_at desc, run desc limit 20")
        words = status_words(database)
    if as_json:
        print_json({"workflows": found, "runs": runs})
        return
    shown = [{**row, "description": row["problem"] or row["description"]} for row in found]
    print_table(shown, ("name", "steps", "source", "description"), "no workflows")
    if runs:
        say()
        told = [{**row, "status": words[row["status"]]} for row in runs]
        print_table(told, ("run", "workflow", "status", "steps", "completed", "running", "not_done", "created_at"), "")


def folder_of(given: Path | None) -> Path:
    """The root of the project that a command means."""
    from engine.project.workspace import Workspace

    return Workspace(given or Path.cwd()).root


def say_steps(db: Database, run: str) -> None:
    """How far each step is, on stderr."""
    colours = {"completed": "green", "failed": "red", "running": "yellow"}
    for row in db.rows("select * from step_list where run = ?", (run,)):
        why = f": {one_line(row['reason'], 120)}" if row["reason"] else ""
        say(f"  {row['step']}: {row['state']}{why}", colours.get(row["state"]), dim=row["state"] not in colours)


def _is_run(db: Database, name: str) -> bool:
    return bool(
        db.value("select 1 from workflow_runs as w join runs as r on r.id = w.run_id where r.alias = ?", (name,))
    )


def _drawn(db: Database, name: str, root: Path | None) -> list[Step]:
    from engine.workflows import finding as store
    from engine.workflows import lists as workflow_lists
    from engine.workflows.graph import Step

    if _is_run(db, name):
        return [
            Step(
                row["step"],
                row["layer"],
                (row["needs"] or "").split(", ") if row["needs"] else (),
                row["title"] or "",
                row["state"],
            )
            for row in store.steps(db, name)
        ]
    return [
        Step(each["id"], each["layer"], each["needs"], each["title"] or "")
        for each in workflow_lists.described(db, store.find(db, name, folder_of(root)))["steps"]
    ]


__all__ = ["graph", "list_", "show"]
