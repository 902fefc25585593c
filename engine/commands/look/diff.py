"""`engine diff`: what a run changed in the files.

spec: @diff_of_files
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_turn
from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.functions.counts import counted
from engine.terminal.diffs import difference, print_paged
from engine.terminal.printing import print_json, print_text, say, shown_path

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

# Of each file the text before the first change and that after the last.
_CHANGED = """
    with made as (
        select c.*, r.alias as run
        from _changed_texts as c
        join tree_runs as t on t.run_id = c.run_id and t.top = :run
        join runs as r on r.id = c.run_id
        where :turn is null or (c.turn = :turn and r.alias = :run)
    ),
    files as (
        select distinct path, first_value(before) over changes as before, last_value(after) over changes as after
        from made
        window changes as (partition by path order by at rows between unbounded preceding and unbounded following)
    )
    select
        path,
        case when before is null then 'created' when after is null then 'deleted' else 'changed' end as change,
        before,
        after
    from files
    where before is not after
    order by path
"""
_HAS_TURN = "select 1 from turn_timeline where run = ? and turn = ?"


def diff(
    run: RunArgument = None,
    turn: Annotated[
        int | None,
        typer.Argument(metavar="TURN", help="Show only the changes of this turn.", autocompletion=complete_turn),
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Show only the number of changed lines for each file.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show what a run changed in the files.

    For each file, the diff shows the text before the run's first change and after its last change. Changes of child
    runs and of shell commands are included. On a terminal the diff is coloured and opens in a pager.

    \b
    Examples:
      engine diff
      engine diff demo --stat
      engine diff demo 3
      engine diff demo > demo.patch
    """
    from engine.errors import NotFound

    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if turn is not None and not database.value(_HAS_TURN, (alias, turn)):
            raise NotFound(f"run {alias!r}: there is no turn {turn}; 'engine show {alias}' lists its turns")
        rows = _changed(database, alias, turn)
    if as_json:
        print_json(rows)
    elif not rows:
        say(f"{alias}: no file was changed" + (f" by turn {turn}" if turn is not None else ""), dim=True)
    elif stat:
        _print_counts(rows)
    else:
        print_paged(line for row in rows for line in row["diff"].splitlines())


def _changed(database: Database, run: str, turn: int | None) -> list[Row]:
    """The files that a run or one of its turns changed: path, change, added and removed lines, and the unified diff."""
    return [
        {
            "path": row["path"],
            "change": row["change"],
            "added": sum(line.startswith("+") for line in lines[2:]),
            "removed": sum(line.startswith("-") for line in lines[2:]),
            "diff": "\n".join(lines),
        }
        for row, lines in _with_lines(database.rows(_CHANGED, {"run": run, "turn": turn}))
    ]


def _with_lines(rows: list[Row]) -> Iterator[tuple[Row, list[str]]]:
    for row in rows:
        path = shown_path(row["path"])
        old = "/dev/null" if row["before"] is None else f"a/{path}"
        new = "/dev/null" if row["after"] is None else f"b/{path}"
        yield row, difference(row["before"] or "", row["after"] or "", old, new)


def _print_counts(rows: list[Row]) -> None:
    width = max(len(shown_path(row["path"])) for row in rows)
    for row in rows:
        print_text(f"{shown_path(row['path']).ljust(width)}  {row['change']:7}  +{row['added']} -{row['removed']}")
    added, removed = (sum(row[name] for row in rows) for name in ("added", "removed"))
    print_text(f"{counted(len(rows), 'file')}, +{added} -{removed}")
