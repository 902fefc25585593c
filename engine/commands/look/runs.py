"""`engine runs`: the latest runs, each with its child runs.

spec: @list_of_runs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_label
from engine.cli.databases import open_to_read
from engine.cli.files_argument import places
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.display.statuses import status_words
from engine.functions.counts import counted
from engine.terminal.editor_and_pager import paging
from engine.terminal.exit_codes import FAILED
from engine.terminal.interrupted_runs import say_undriven, undriven
from engine.terminal.printing import cost_cell, one_line, print_json, print_table, say
from engine.terminal.times import local
from engine.terminal.titles import called, with_labels

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

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
        typer.Option(
            "--limit", "-n", metavar="N", min=1, help="List the latest N runs; default: 20.", show_default=False
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List every run.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Include archived runs.")] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--in",
            metavar="PATH",
            help="List the runs of the database PATH, or of all databases in the folder PATH. May be repeated.",
            show_default=False,
        ),
    ] = None,
    utc: Annotated[bool, typer.Option("--utc", help="Show full times in UTC.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List, name, archive and remove runs. Without a command, the latest 20 runs are listed.

    Child runs are listed below their parent. tree_cost is the cost of a run and its child runs. A run without a title
    shows the start of its first prompt. If a run was interrupted, the last line shows the command that resumes it.
    --json prints all runs unless you give --limit. In JSON, times are UTC, and interrupted runs have "resumable":
    true.

    \b
    Examples:
      engine runs
      engine runs --all --search invoice
      engine runs --label q3
      engine runs --in data/ --in other.db
      engine runs --json | jq -r '.[].run'
      engine runs rename gpt_5_1124_101500 billing
    """
    if not is_alone(context, label, search, limit, everything, archived, files, utc, as_json, db):
        return
    if everything and limit is not None:
        raise typer.BadParameter("--all lists every run; leave --limit out", param_hint="--limit")
    chosen = {"archived": archived, "label": label, "search": search}
    most = -1 if everything or (as_json and limit is None) else limit or _LATEST

    def listed(database: Database) -> list[Row]:
        rows = database.rows(_RUNS, {**chosen, "limit": most})
        return _for_programs(database, rows) if as_json else _for_people(database, rows, utc=utc)

    if files:
        _list_of_files(files, db, listed, as_json=as_json)
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
        with paging():
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


def _list_of_files(
    files: Sequence[Path], db: Path | None, listed: Callable[[Database], list[Row]], *, as_json: bool
) -> None:
    """Print the runs of databases in one table, and exit with 1 if one of these cannot be read."""
    from engine.cli.databases import look_at
    from engine.errors import EngineError
    from engine.terminal.printing import print_error, print_json, print_table

    rows: list[Row] = []
    failed = False
    for path in places(files, db):
        try:
            with look_at(path) as database:
                rows += [{"file": str(path), **row} for row in listed(database)]
        except EngineError as error:
            print_error(error.message)
            failed = True
    if as_json:
        print_json(rows)
    else:
        columns = ("file", "run", "status", "turns", "cost", "updated", "title", "answer")
        print_table(rows, columns, "no runs", spared=("turns", "updated", "cost"))
    if failed:
        raise typer.Exit(FAILED)
