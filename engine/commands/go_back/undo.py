"""`engine undo` and `rewind`: take back edits, and put a run where a past turn was sent."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from engine.cli.completion import complete_run, complete_turn
from engine.cli.databases import open_existing
from engine.cli.options import DbOption, JsonOption, YesOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.display.escapes import drawn_diff
from engine.system.user import user_name
from engine.terminal.editor_and_pager import paged
from engine.terminal.exit_codes import exit_code
from engine.terminal.hints import db_flag
from engine.terminal.printing import one_line, paint, print_error, print_json_text, say, visible
from engine.terminal.questions import asked_once, refuse, terminal
from engine.terminal.screen import lines_that_fit, show_lines

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.history.undo_results import FileChange, Undone

ByOption = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="NAME", help="The name of the person who decides; default: your user name.", show_default=False
    ),
]
DiffOption = Annotated[bool, typer.Option("--diff", "--dry-run", help="Only show what would change.")]

_WROTE = """
    select u.run
    from undoable_edits as u
    join runs as r on r.alias = u.run
    where r.archived_at is null
    order by u.command_id desc, r.role <> 'main', r.updated_at desc
    limit 1
"""
"""The run whose edit is the newest; of an edit by a child the run that gave the work away."""
_COMMITS = """
    select hash, subject, paths
    from undone_commits
    where run = ?1 and undo_id = (select max(undo_id) from undone_commits where run = ?1)
    order by hash
"""
_COLOURS = {"+": "green", "-": "red", "@": "cyan", "!": "yellow"}


def undo(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="The run; default: the latest run that changed files.", autocompletion=complete_run
        ),
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option(
            "--turn", metavar="N", min=1, help="Take back every edit of this turn.", autocompletion=complete_turn
        ),
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="Take back the newest undo.")] = False,
    diff: DiffOption = False,
    yes: YesOption = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Take back the newest edit of a run. Repeat it for earlier edits.

    An edit is a command of the model that wrote, moved or removed files. All changes of a child run count as one
    edit. You see the diff and are asked first. If a file has changed since the edit, nothing is undone, and you see
    that change. To undo changes by shell commands, use 'engine rewind --files'.

    \b
    Examples:
      engine undo
      engine undo demo --turn 3
      engine undo demo --redo
      engine undo demo --diff
      engine undo demo --yes --json

    \b
    Exit codes:
      0 done, 1 refused (a file has changed, the run is driven) or declined,
      2 usage, or nothing is left to take back
    """
    if redo and turn is not None:
        raise typer.BadParameter("--redo takes back the whole last undo; leave out --turn", param_hint="--redo")
    with open_existing(db) as database:
        alias = run_or_latest(database, run, None if redo else _WROTE)
        planned = database.undo(alias, turn, redo=redo, dry_run=True)
        flags = (f" --turn {turn}" if turn is not None else "") + (" --redo" if redo else "")
        title = f"{alias} in {_folder(database, alias)}: {'redo' if redo else 'take back'}"
        command = f"engine undo{db_flag(db)} {alias}{flags}"
        if _is_agreed(planned, title, command, diff=diff, yes=yes, as_json=as_json):
            done = database.undo(alias, turn, redo=redo, by=by or user_name(), plan=planned.plan)
            _tell(done, as_json, database)


def rewind(
    run: RunArgument = None,
    *,
    turn: Annotated[
        int,
        typer.Argument(
            metavar="N",
            min=1,
            help="The turn: the run returns to the state before it.",
            autocompletion=complete_turn,
        ),
    ],
    files: Annotated[bool, typer.Option("--files", help="Restore the files, too.")] = False,
    diff: DiffOption = False,
    yes: YesOption = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Return a run to the point before turn N.

    The old run is kept as RUN.1, with its open proposals and its queue. --files also restores the files that the run
    has changed since then, including by shell commands. You see the diff and are asked first. Changes that somebody
    else made stay. Binary files are not restored, but listed. 'engine undo' takes a rewind back.

    \b
    Examples:
      engine rewind 3
      engine rewind demo 3 --files
      engine rewind demo 3 --files --diff
      engine rewind demo 3 --files --yes --json

    \b
    Exit codes:
      0 done, 1 refused (the run is driven) or declined,
      2 usage, or no such turn
    """
    with open_existing(db) as database:
        alias = run_or_latest(database, run)
        planned = database.rewind(alias, turn, files=files, dry_run=True)
        flags = " --files" if files else ""
        title = f"{alias} in {_folder(database, alias)}:"
        command = f"engine rewind{db_flag(db)} {alias} {turn}{flags}"
        if _is_agreed(planned, title, command, diff=diff, yes=yes, as_json=as_json):
            done = database.rewind(alias, turn, files=files, by=by or user_name(), plan=planned.plan)
            _tell(done, as_json, database)


def _is_agreed(planned: Undone, title: str, command: str, *, diff: bool, yes: bool, as_json: bool) -> bool:
    """Show what is planned, and ask; False where it is only shown, or was done before by a command that was killed.

    Raises `Conflict` (409) where a file stands in the way, `ValidationError` (400) where nobody can be asked.
    """
    from engine.errors import Conflict, ValidationError

    if planned.plan is None:
        _tell(planned, as_json)
        return False
    refused = planned.status == Conflict.status
    if as_json and (diff or refused):
        print_json_text(planned.to_json())
    elif diff:
        for line in _lines(planned.files):
            typer.echo(line)
        if not planned.files and not refused:
            say(f"{title} {one_line(', '.join(planned.edits), 200)}: no file needs to change", dim=True)
    elif refused or not yes:
        _show(planned, title)
    if refused:
        raise Conflict(planned.message)
    if diff or yes:
        return yes and not diff
    source = terminal()
    if source is None:
        raise ValidationError(
            f"run {planned.run!r}: cannot ask you without a terminal, so nothing was changed; add --yes, or see "
            f"the changes first: {command} --diff"
        )
    return _answer(source, planned)


def _folder(db: Database, run: str) -> str:
    """The folder whose files are at stake: a file from elsewhere may name any."""
    query = "select coalesce(p.root, 'no folder') from runs as r join projects as p on p.id = r.project_id where r.alias = ?"
    return visible(str(db.value(query, (run,))))


def _answer(source: TextIO, planned: Undone) -> bool:
    """Whether the person says yes; a no ends the command."""
    while True:
        match asked_once(source, "do that? [y] yes, [N] no, [v] view: "):
            case "y" | "yes":
                return True
            case "v" | "view":
                paged(_lines(planned.files))
            case _:
                refuse()


def _show(planned: Undone, title: str) -> None:
    """Show on stderr what is planned; of a long diff its beginning, and how much follows."""
    say(f"{title} {one_line(', '.join(planned.edits), 200)}", "cyan")

    def painted(text: str, mark: str) -> str:
        return paint(text, _COLOURS.get(mark), stream=sys.stderr)

    def beginnings(texts: Iterable[str]) -> Iterator[str]:
        return (painted(each, each[:1]) for each in texts)

    lines = list(_lines(planned.files))
    show_lines(lines, beginnings, painted, most=lines_that_fit(), hint="[v] or --diff shows all")
    if not lines:
        say("  no file needs to change", dim=True)


def _lines(files: Sequence[FileChange]) -> Iterator[str]:
    """The diffs of files, each character drawn as what it is; of one that stays as it is why, and what has changed in
    it.
    """
    for each in files:
        if each["stays"]:
            yield f"! {visible(each['path'])} {visible(each['stays'])}"
        elif each["executable"] is not None:
            yield f"! {visible(each['path'])} {_mode(each)}"
        if each["child"]:
            yield f"! {visible(each['path'])} was changed by {visible(each['child'])}"
        if text := each["diff"] or each["since"]:
            yield from drawn_diff(text.removesuffix("\n"))


def _mode(change: FileChange) -> str:
    return "is executable again" if change["executable"] else "is not executable any more"


def _tell(done: Undone, as_json: bool, database: Database | None = None) -> None:
    """Print what was done, a line a file, and exit with the code of what failed."""
    if as_json:
        print_json_text(done.to_json())
    else:
        if done.old:
            typer.echo(f"{done.run} continues before that turn; its old state is kept as {done.old}")
        for each in done.files:
            if each["stays"]:
                typer.echo(visible(f"left as it is: {each['path']} {each['stays']}"))
            else:
                mode = f", {_mode(each)}" if each["executable"] is not None else ""
                child = f" ({each['child']})" if each["child"] else ""
                typer.echo(visible(f"{each['change']} {each['path']}{child}{mode}"))
        if not done.files and not done.old:
            typer.echo(f"{done.run}: {visible(', '.join(done.edits))}: no file had to change")
        if database is not None:
            _tell_commits(database, done)
    if done.status != 200:
        if done.status >= 400:
            print_error(f"run {done.run!r}: {done.message}")
        else:
            say(f"{done.run}: another process works on it and will do this as soon as the model has answered", "yellow")
        raise typer.Exit(exit_code(done.status))


def _tell_commits(database: Database, done: Undone) -> None:
    """Name the git commits that hold what was taken back just now: they stay until that is committed, too."""
    if done.status != 200 or not done.files or not database.has("commits"):
        return
    taken = {each["path"] for each in done.files if not each["stays"]}
    for row in database.rows(_COMMITS, (done.run,)):
        paths = json.loads(row["paths"])
        if taken.issuperset(paths):
            command = shlex.join(["git", "commit", "-m", f"Undo: {row['subject']}", "--", *paths])
            say(
                f"git still has commit {row['hash'][:10]}, which made this edit; to commit the undo: {visible(command)}",
                "yellow",
            )


__all__ = ["rewind", "undo"]
