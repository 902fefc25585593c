"""`engine runs rename`, `label` and `archive`: what runs are called, and which of them lists leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_label, complete_run
from engine.cli.databases import open_existing
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.printing import print_json, print_text, say, visible
from engine.terminal.times import span
from engine.terminal.titles import called, with_labels

if TYPE_CHECKING:
    from pathlib import Path

    from engine.api.database import Database

_SHOWN = "select alias as run from runs where archived_at is null"
_CALLED = "select run, title, labels, archived_at from run_overview where run = ?"


def rename(
    run: RunArgument = None,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name: letters, digits, '_', '-' and '.'.")],
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Give a run another name. All references to the run change with it. Packets that were sent before keep the old
    name.

    You cannot rename a run while it works.

    \b
    Example:
      engine runs rename gpt_5_1124_101500 billing
    """
    with open_existing(db) as database:
        old = run_or_latest(database, run)
        database.rename(old, name)
        _tell(database, name, as_json, f"{old}: is now called {name}")


def label(
    run: RunArgument = None,
    labels: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL...", help="Labels to add.", autocompletion=complete_label),
    ] = None,
    rm: Annotated[
        list[str] | None,
        typer.Option("--rm", metavar="LABEL", help="Remove this label.", autocompletion=complete_label),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="The title of the run; '' removes the title."),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Give a run labels and a title, or show them. 'engine runs --label LABEL' lists the runs with a label.

    If the first word is not the name of a run, all words are labels for the latest run.

    \b
    Examples:
      engine runs label
      engine runs label billing urgent q3
      engine runs label billing --title "Invoices with two currencies" --rm urgent
      engine runs --label q3
    """
    with open_existing(db) as database:
        alias, labels = _run_and_labels(database, run, labels or [])
        if labels or rm or title is not None:
            database.describe(alias, title, labels=labels, drop_labels=rm or ())
        row = database.row(_CALLED, (alias,)) or {}
        _tell(database, alias, as_json, f"{alias}: {called(row) or '(no title)'}")


def _run_and_labels(database: Database, run: str | None, labels: list[str]) -> tuple[str, list[str]]:
    """The run, and the labels: if the first word names no run, it is a label of the latest one."""
    from engine.errors import NotFound

    try:
        return run_or_latest(database, run), labels
    except NotFound:
        if run is None or not database.value("select 1 from runs"):
            raise
        return run_or_latest(database, None), [run, *labels]


def archive(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="The runs.", autocompletion=complete_run)
    ] = None,
    idle: Annotated[
        str | None,
        typer.Option(
            "--idle", metavar="SPAN", help="Archive every run that has been idle for this long: 12h, 30d, 8w."
        ),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Show the runs in lists again. A new prompt has the same effect.")
    ] = False,
    db: DbOption = None,
) -> None:
    """Hide runs from lists. Nothing is removed; 'engine runs --archived' also lists archived runs.

    A run is idle if it does not work, does not wait for you and has no queued prompts. The setting archive_idle_days
    archives idle runs automatically.

    \b
    Examples:
      engine runs archive billing trial-2
      engine runs archive --idle 30d
      engine runs archive billing --undo
    """
    if bool(run) == (idle is not None):
        raise typer.BadParameter("give names of runs or --idle SPAN, not both")
    if idle is not None:
        _archive_idle(db, idle, undo=undo)
        return
    with open_existing(db) as database:
        aliases = [run_or_latest(database, each) for each in run or ()]
        with database.transaction():
            for alias in aliases:
                database.describe(alias, archived=not undo)
    say(f"{'shown' if undo else 'hidden from'} {'in ' if undo else ''}lists: {', '.join(aliases)}")


def _archive_idle(db: Path | None, idle: str, *, undo: bool) -> None:
    """Archive the runs that have rested for a span."""
    if undo:
        raise typer.BadParameter("--undo needs the names of runs")
    days = span(idle) / 86_400
    if days <= 0:
        raise typer.BadParameter(f"{idle!r}: give a time span above 0, such as 30d")
    with open_existing(db) as database:
        before = {row["run"] for row in database.rows(_SHOWN)}
        database.insert("verb_archive_idle", days=days)
        after = {row["run"] for row in database.rows(_SHOWN)}
    gone = ", ".join(sorted(before - after))
    say(f"archived: {gone}" if gone else f"no run was idle for {idle}")


def _tell(database: Database, run: str, as_json: bool, told: str) -> None:
    if as_json:
        row = database.row(_CALLED, (run,)) or {}
        print_json(with_labels(row))
    else:
        print_text(visible(told))
