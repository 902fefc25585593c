"""`engine fleet status`, `logs`, `collect` and `cancel`: look at the manifest of a fleet, and cancel tasks.

spec: @fleet_looks
"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from engine.cli.options import JsonOption
from engine.terminal.printing import print_json, print_table, say

from .fleet_runs import ManifestArgument
from .fleet_table import line

_TASKS = "select name as task, kind, state, file, definition from tasks order by id"
_TaskArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[TASK]...", help="Ids of tasks; default: all.", show_default=False)
]


def status(
    manifest: ManifestArgument,
    tasks: Annotated[bool, typer.Option("--tasks", help="List the tasks, and what each one is.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show how far a fleet is, or list its tasks.

    \b
    Examples:
      engine fleet status tasks.fleet.db
      engine fleet status tasks.fleet.db --tasks
    """
    from engine.fleet.manifest import Manifest

    with Manifest(manifest, read_only=True) as found:
        rows = found.rows(_TASKS if tasks else "select * from fleet_status")
    if as_json:
        print_json(rows if tasks else rows[0])
    elif tasks:
        print_table(rows, ("task", "kind", "state", "file", "definition"), "no tasks")
    else:
        print_table(
            rows,
            ("tasks", "waiting", "running", "done", "failed", "cancelled", "retries", "workers", "turns"),
            "no fleet",
        )
        say(line(rows[0]))


def logs(
    manifest: ManifestArgument,
    tasks: _TaskArgument = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only attempts that failed.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Show at most N attempts.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List the attempts at the tasks, newest first, and why an attempt failed.

    \b
    Examples:
      engine fleet logs tasks.fleet.db --failed
      engine fleet logs tasks.fleet.db task-17
    """
    from engine.fleet.manifest import Manifest

    with Manifest(manifest, read_only=True) as found:
        rows = found.rows(
            "select * from attempt_log where (:tasks is null or task in (select value from json_each(:tasks))) "
            "and (not :failed or outcome not in ('running', 'done')) limit :limit",
            {"tasks": json.dumps(tasks) if tasks else None, "failed": failed, "limit": limit},
        )
    if as_json:
        print_json(rows)
        return
    shown = [{**row, "seconds": f"{row['seconds']:.1f}"} for row in rows]
    columns = ("task", "attempt", "outcome", "seconds", "turns", "cost", "worker", "began_at", "reason")
    print_table(shown, columns, "no attempts", spared=("worker", "began_at", "cost"))


def collect(
    manifest: ManifestArgument,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print a line of JSON for each task.")] = False,
) -> None:
    """Print the result of each task: its answer, why it failed, its turns, its cost, and its database.

    \b
    Examples:
      engine fleet collect tasks.fleet.db
      engine fleet collect tasks.fleet.db --jsonl > results.jsonl
    """
    from engine.db.query import Answer
    from engine.fleet.manifest import Manifest
    from engine.terminal.answers import print_csv

    if as_json + as_csv + jsonl > 1:
        raise typer.BadParameter("choose one of --json, --csv and --jsonl")
    with Manifest(manifest, read_only=True) as found:
        rows = found.rows("select * from task_results")
    if as_json:
        print_json(rows)
    elif jsonl:
        for row in rows:
            sys.stdout.write(json.dumps(row, ensure_ascii=not sys.stdout.isatty()) + "\n")
    elif as_csv:
        print_csv(Answer(list(rows[0]) if rows else [], [tuple(row.values()) for row in rows]))
    else:
        columns = ("task", "state", "outcome", "turns", "cost", "attempts", "file", "answer", "reason")
        print_table(rows, columns, "no tasks", spared=("file", "attempts", "turns"))


def cancel(manifest: ManifestArgument, tasks: _TaskArgument = None) -> None:
    """Cancel tasks that wait or run. What they have done so far stays in their databases.

    \b
    Examples:
      engine fleet cancel tasks.fleet.db
      engine fleet cancel tasks.fleet.db task-17 task-18
    """
    from engine.errors import NotFound
    from engine.fleet.manifest import Manifest

    with Manifest(manifest) as found:
        known = {row["name"] for row in found.rows("select name from tasks")}
        if unknown := sorted({*(tasks or ())} - known):
            raise NotFound(f"task {unknown[0]!r}: not found; 'engine fleet status {manifest} --tasks' lists the tasks")
        for name in tasks or (None,):
            found.call("_cancel_tasks", name=name)
        (told,) = found.rows("select * from fleet_status")
    say(line(told))
