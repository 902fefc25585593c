"""`engine runs purge`: removes a run, or all old ones, for good.

spec: @purge @several_files
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import open_existing, open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.functions.counts import counted


def purge(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="The run to remove. With --before: databases or folders, in which all old runs are removed.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="WHEN",
            help="Remove all runs that have not changed since then, with their child runs: 90d, 12w, 2026-03-01.",
            show_default=False,
        ),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="With --before: remove only archived runs.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --before: list the runs, and remove nothing.")
    ] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Also remove all child runs of the run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Remove a run for good, or all old runs. This cannot be undone.

    This removes the prompts, responses, commands, entries and packets of the run. Files that the run wrote stay on
    disk. Content that other runs share stays in the database. The database file becomes smaller, unless another process
    has it open. To keep a copy, use 'engine runs export' first. To remove old runs automatically, use the setting
    retention_days.

    \b
    Examples:
      engine runs purge demo
      engine runs purge --before 90d --dry-run
      engine runs purge --before 90d --archived --yes data/*.db
      engine runs purge demo --tree
    """
    words = run or []
    if before is None:
        if len(words) != 1:
            raise typer.BadParameter("give a RUN or --before WHEN")
        if archived or dry_run:
            raise typer.BadParameter("works only with --before", param_hint="--archived" if archived else "--dry-run")
        _purge_one(db, words[0], tree=tree, yes=yes, as_json=as_json)
        return
    if tree:
        raise typer.BadParameter("--before always includes child runs; leave out --tree", param_hint="--tree")
    _purge_old([Path(word) for word in words], db, _Wanted(before, archived), dry_run=dry_run, yes=yes, as_json=as_json)


def _purge_one(db: Path | None, run: str, *, tree: bool, yes: bool, as_json: bool) -> None:
    from engine.errors import ValidationError
    from engine.terminal.printing import print_json, print_text
    from engine.terminal.questions import at_terminal, end_unless_yes

    with open_existing(db) as database:
        rows = database.rows(_TREE, (run, tree))
        below, turns = [row["run"] for row in rows[1:]], sum(row["turns"] for row in rows)
        also = f", and its child runs {', '.join(below)}" if below else ""
        known = bool(rows)  # an unknown run is the purge's own error
        if known and not yes:
            lost = f"{run}{also}, with {counted(turns, 'turn')}" if turns else f"{run}{also}"
            if not at_terminal():
                raise ValidationError(f"run {lost}: will be removed for good; add --yes to confirm")
            end_unless_yes(f"Remove {lost}, for good?")
        freed = database.purge(run, tree=tree)
        if as_json:
            print_json({"run": run, "freed_bytes": freed, "below": below})
        else:
            print_text(f"{', '.join([run, *below])}: purged, {freed / 1e6:.1f} MB freed")


_TREE = """
    select t.run, o.turns
    from tree_runs as t
    join run_overview as o on o.run = t.run
    where t.top = ? and (t.level = 0 or ?)
    order by t.level, t.run_id
"""


_NAMED = 5
"""Runs that a row names."""


class _Wanted(NamedTuple):
    """Which runs are to go."""

    before: str
    archived: bool

    def days(self) -> float:
        """The days for which nothing has happened in them."""
        from datetime import UTC, datetime

        from engine.terminal.times import moment

        then = datetime.fromisoformat(moment(self.before)).replace(tzinfo=UTC)
        days = (datetime.now(UTC) - then).total_seconds() / 86_400
        if days <= 0:
            raise typer.BadParameter(
                f"{self.before!r}: give a time span, such as 90d, or a past day, such as 2026-03-01"
            )
        return days


class _Row(NamedTuple):
    """What became of a database."""

    file: str
    runs: list[str]
    freed_bytes: int
    error: str | None = None


def _purge_old(files: list[Path], db: Path | None, wanted: _Wanted, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove the old runs of databases; a database that cannot be opened is told and does not keep the others."""
    from engine.cli.files_argument import places
    from engine.db.purging import purge_before
    from engine.errors import EngineError, ValidationError
    from engine.terminal.counter_line import counter_line
    from engine.terminal.exit_codes import FAILED
    from engine.terminal.printing import print_json
    from engine.terminal.questions import at_terminal, end_unless_yes

    days, archived = wanted.days(), wanted.archived
    found, rows = places(files, db), list[_Row]()
    if not dry_run and not yes:
        lost = [name for path in found for name in _old(path, days, archived)]
        told = f"{counted(len(lost), 'run')}, {', '.join(lost[:5])}{', …' if len(lost) > 5 else ''}"
        if lost and not at_terminal():
            raise ValidationError(f"{told}: will be removed for good; add --yes to confirm")
        if lost:
            end_unless_yes(f"Remove {told}, for good?")
    for path in found:
        try:
            with counter_line("purging") as tell, open_to_write(path) as database:
                gone = purge_before(database, days, archived=archived, dry_run=dry_run, progress=tell)
            rows.append(_Row(str(path), gone.runs, gone.freed))
        except EngineError as error:
            if len(found) == 1:
                raise
            rows.append(_Row(str(path), [], 0, error.message.removeprefix(f"{path}: ")))
    if as_json:
        print_json([row._asdict() for row in rows])
    else:
        _print(rows, wanted, dry_run=dry_run)
    if any(row.error for row in rows):
        raise typer.Exit(FAILED)


def _old(path: Path, days: float, archived: bool) -> list[str]:
    """The runs of a database that would go, as far as it can be opened."""
    from engine.db.purging import purge_before
    from engine.errors import EngineError

    try:
        with open_to_write(path) as database:
            return purge_before(database, days, archived=archived, dry_run=True).runs
    except EngineError:
        return []


def _print(rows: list[_Row], wanted: _Wanted, *, dry_run: bool) -> None:
    from engine.terminal.printing import print_table, print_text
    from engine.terminal.times import moment

    if len(rows) > 1:
        shown = [
            {
                "file": row.file,
                "state": "failed" if row.error else "ok",
                "runs": len(row.runs),
                "MB freed": round(row.freed_bytes / 1e6, 1),
                "result": row.error or _told(row.runs, dry_run=dry_run),
            }
            for row in rows
        ]
        print_table(shown, ("file", "state", "runs", "MB freed", "result"), "no database")
        return
    names = ", ".join(rows[0].runs)
    if not names:
        print_text(
            f"no {'archived ' if wanted.archived else ''}run has been idle since {moment(wanted.before)[:16]} UTC"
        )
    elif dry_run:
        print_text(f"{names}: would be purged")
    else:
        print_text(f"{names}: purged, {rows[0].freed_bytes / 1e6:.1f} MB freed")


def _told(runs: list[str], *, dry_run: bool) -> str:
    if not runs:
        return "no run is that old"
    more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return f"{'would purge' if dry_run else 'purged'} {', '.join(runs[:_NAMED])}{more}"
