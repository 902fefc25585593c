"""`engine entry set`, `rm`, `cp` and `mv`: correct what a run knows.

spec: @terminal_verbs
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_path
from engine.cli.databases import open_existing
from engine.cli.options import DbOption, JsonOption, YesOption
from engine.cli.path_argument import Destination, EntryPath, found
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.exit_codes import exit_code
from engine.terminal.printing import one_line, print_json, say, shown_path, visible
from engine.terminal.standard_input import given_text

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

_MOST_SHOWN = 20
"""Paths that are shown before a person is asked."""


def set_(
    run: RunArgument = None,
    *,
    path: EntryPath,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The new text; - reads it from stdin.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", readable=False, help="Take the text from this file.")
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the text at the end.")] = False,
    tags: Annotated[str | None, typer.Option("--tags", metavar="WORDS", help="Tags, separated by commas.")] = None,
    summary: Annotated[str | None, typer.Option("--summary", metavar="TEXT", help="A short description.")] = None,
    visibility: Annotated[
        str | None, typer.Option("--visibility", metavar="HOW", help="visible, summarized or archived.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Write an entry or a file of a run, or change its visibility.

    If PATH is a pattern, every matching entry is changed. If PATH is a file, it is written to disk at once. If TEXT
    begins with a dash, put -- before it.

    \b
    Examples:
      engine entry set demo known://plan "First the tests, then the code."
      engine entry set demo notes.md --file draft.md
      git diff | engine entry set demo known://diff -
      engine entry set demo known://plan --tags plan,tests --visibility summarized
    """
    from engine.driving.requests import located, look
    from engine.errors import ValidationError

    if text is not None and file is not None:
        raise typer.BadParameter("give TEXT or --file, not both", param_hint="--file")
    if text is None and file is None and (append or (tags, summary, visibility) == (None, None, None)):
        raise typer.BadParameter(
            "give TEXT, - for stdin, or --file; without a text give --tags, --summary or --visibility"
        )
    with open_existing(db) as database:
        alias = run_or_latest(database, run)
        place = located(database, alias, path)
        if place.lower().startswith("run://"):
            raise ValidationError(f"{place}: is a run; 'engine run', 'abort', 'fork' and 'config' change runs")
        body = _line_of(text, place)
        if file is not None or text == "-":
            body = given_text(file, int(database.value("select value from settings where name = 'file_max_bytes'")))
        if body is not None:
            look(database, alias, [place])
        request = {
            "verb": "set",
            "path": place,
            "body": body,
            "append": 1 if append else None,
            "visibility": visibility,
            "attributes": _attributes(tags=tags, summary=summary),
        }
        _carry_out(database, alias, [request], as_json)


def _line_of(text: str | None, place: str) -> str | None:
    """A text that was typed: a text of a file ends in a line feed."""
    from engine.functions.paths import path_scheme

    if not text or text.endswith("\n") or path_scheme(place) is not None:
        return text
    return text + "\n"


def rm(
    run: RunArgument = None,
    *,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Entries, files, or patterns for them.", autocompletion=complete_path),
    ],
    yes: YesOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Remove entries or files of a run.

    If PATH is a file, it is deleted from disk. If a pattern matches several entries, you see the list and are asked
    first. If one entry may not be removed, nothing is removed.

    \b
    Examples:
      engine entry rm demo known://plan
      engine entry rm demo 'known://draft_*' build.log
      engine entry rm demo 'unknown://**' --yes
    """
    from engine.driving.requests import located, look
    from engine.errors import ValidationError
    from engine.terminal.questions import at_terminal, end_unless_yes

    with open_existing(db) as database:
        alias = run_or_latest(database, run)
        places = [located(database, alias, path) for path in paths]
        look(database, alias, places)
        chosen: dict[str, None] = {}
        asks = False
        for place in places:
            is_glob, rows = found(database, alias, place)
            chosen |= dict.fromkeys(row["path"] for row in rows)
            asks = asks or is_glob
        if asks and not yes:
            for path in list(chosen)[:_MOST_SHOWN]:
                say(f"  {one_line(shown_path(path), 200)}")
            if len(chosen) > _MOST_SHOWN:
                say(f"  … and {len(chosen) - _MOST_SHOWN} more")
            if not at_terminal():
                raise ValidationError(f"run {alias!r}: {len(chosen)} would be removed; add --yes to confirm")
            end_unless_yes(f"Remove {'this one' if len(chosen) == 1 else f'these {len(chosen)}'}?")
        # by their names, so that what was shown is what is removed
        _carry_out(database, alias, [{"verb": "rm", "path": path, "pattern": 0} for path in chosen], as_json)


def cp(
    run: RunArgument = None, *, path: EntryPath, to: Destination, as_json: JsonOption = False, db: DbOption = None
) -> None:
    """Copy an entry or a file of a run.

    \b
    Examples:
      engine entry cp demo notes.md known://notes
      engine entry cp demo known://answer docs/answer.md
    """
    _copy("cp", run, path, to, as_json, db)


def mv(
    run: RunArgument = None, *, path: EntryPath, to: Destination, as_json: JsonOption = False, db: DbOption = None
) -> None:
    """Move an entry or a file of a run.

    If PATH is a file, it is moved on disk.

    \b
    Examples:
      engine entry mv demo known://draft known://plan
      engine entry mv demo notes.md docs/notes.md
    """
    _copy("mv", run, path, to, as_json, db)


def _copy(verb: str, run: str | None, path: str, to: str, as_json: bool, db: Path | None) -> None:
    from engine.driving.requests import located, look
    from engine.errors import ValidationError

    with open_existing(db) as database:
        alias = run_or_latest(database, run)
        source, place = (located(database, alias, each) for each in (path, to))
        if place.lower().startswith("run://"):
            raise ValidationError(f"{place}: is a run; 'engine fork' copies runs")
        look(database, alias, [source, place])
        is_glob, rows = found(database, alias, source)
        if is_glob:
            raise ValidationError(f"{verb} takes one entry at a time; {path!r} finds {len(rows)}")
        _carry_out(database, alias, [{"verb": verb, "path": rows[0]["path"], "to": place, "pattern": 0}], as_json)


def _attributes(**given: str | None) -> str | None:
    kept = {name: value for name, value in given.items() if value is not None}
    return json.dumps(kept) if kept else None


def _carry_out(db: Database, run: str, requests: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Carry the requests out, print what was done, and exit with the code of the first that failed or waits."""
    from engine.driving.requests import carry_out
    from engine.terminal.printing import print_error

    results = carry_out(db, run, requests)
    for result in results:
        for change in result["changes"]:
            lines = (change.pop("diff") or "").split("\n")[2:]
            change |= {
                "added": sum(line[:1] == "+" for line in lines),
                "removed": sum(line[:1] == "-" for line in lines),
            }
    if as_json:
        print_json(results)
    bad = [result for result in results if result["status"] != 200]
    for result in results:
        if result["state"] == "failed":
            print_error(f"run {run!r}: {result['message']}")
        elif not as_json:
            _print_changes(result)
    if any(map(_waits, bad)):
        say(f"{run}: another process works on it and will do this as soon as the model has answered", "yellow")
    if bad:
        raise typer.Exit(exit_code(bad[0]["status"]))


def _waits(result: Row) -> bool:
    return exit_code(result["status"]) == exit_code(202)


def _print_changes(result: Row) -> None:
    """Print a line for each path that changed; where no text did, what the command says of itself."""
    will = "to be " if _waits(result) else ""
    for change in result["changes"]:
        counts = f"+{change['added']} -{change['removed']}"
        typer.echo(f"{will}{change['change']} {one_line(shown_path(change['path']), 1_000)}  {counts}")
    if not result["changes"]:
        typer.echo(visible(result["message"] or f"unchanged {shown_path(result['path'])}"))


__all__ = ["cp", "mv", "rm", "set_"]
