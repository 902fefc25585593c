"""`engine entry get`: print what a run knows under a path."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.databases import open_existing, open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.path_argument import EntryPath, found
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.display.demo_mode import hidden
from engine.terminal.printing import print_json, print_table, shown_path, visible

if TYPE_CHECKING:
    from engine.api.database import Database


def get(
    run: RunArgument = None,
    *,
    path: EntryPath,
    line: Annotated[
        int | None, typer.Option("--line", metavar="N", help="Start at line N. A negative N counts from the end.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Print at most N lines.")] = None,
    seen: Annotated[bool, typer.Option("--visible", help="From now on, show the model the full text.")] = False,
    summarized: Annotated[bool, typer.Option("--summarized", help="From now on, show the model a summary.")] = False,
    archived: Annotated[
        bool, typer.Option("--archived", help="From now on, do not show the entry to the model.")
    ] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print an entry or a file of a run, or list the entries that match a pattern.

    You see the text that is stored in the run. For a file, this is the text as the run last read it. --visible,
    --summarized and --archived change how the next packet shows the entry.

    \b
    Examples:
      engine entry get demo known://plan
      engine entry get demo notes.md --line -20
      engine entry get demo 'known://**'
      engine entry get demo src/main.py --visible > main.py
    """
    from engine.driving.requests import carry_out, located
    from engine.errors import error_for

    chosen = [name for name, on in (("visible", seen), ("summarized", summarized), ("archived", archived)) if on]
    if len(chosen) > 1:
        raise typer.BadParameter("use only one of them", param_hint=" / ".join(f"--{name}" for name in chosen))
    with open_existing(db) if chosen else open_to_read(db) as database:
        alias = run_or_latest(database, run)
        place = located(database, alias, path)
        is_glob, rows = found(database, alias, place)
        slicing = line is not None or limit is not None
        if is_glob and slicing:
            raise typer.BadParameter("they work only for one entry; give its exact path", param_hint="--line / --limit")
        if not is_glob and rows[0]["outcome"]:
            status = database.value("select status from outcomes where name = ?", (rows[0]["outcome"],))
            raise error_for(status, f"run {alias!r}: {rows[0]['message']}")
        for visibility in chosen:
            readable = [row["path"] for row in rows if not row["outcome"]]
            same = {"verb": "get", "pattern": 0, "visibility": visibility}
            carry_out(database, alias, [{**same, "path": each} for each in readable])
            rows = found(database, alias, place)[1]
        if slicing:
            rows = [{**row, **_slice(database, row["body"] or "", line, limit)} for row in rows]
    if as_json:
        print_json([{name: row[name] for name in row if name not in ("outcome", "message")} for row in rows])
    elif is_glob:
        shown = [{**row, "path": shown_path(row["path"])} for row in rows]
        print_table(shown, ("category", "visibility", "state", "turn", "tokens", "path"), "")
    else:
        _print_body(rows[0]["body"] or "")


def _slice(db: Database, body: str, line: int | None, limit: int | None) -> dict[str, Any]:
    """The lines of `body` that are asked for, as `body`, with the numbers of the `first` and the `last`."""
    cut = json.loads(db.value("select text_slice(?, ?, ?)", (body, line, limit)))
    ends = cut["last"] < cut["total"] or body.endswith("\n")
    return {"body": cut["text"] + ("\n" if cut["last"] and ends else ""), "first": cut["first"], "last": cut["last"]}


def _print_body(body: str) -> None:
    """Print a text: byte for byte into a pipe or a file; at a terminal with its controls drawn and a line feed behind
    it.

    In demo mode names are hidden in both.
    """
    if sys.stdout.isatty():
        typer.echo(visible(body), nl=not body.endswith("\n"))
    else:
        typer.echo(hidden(body), nl=False, color=True)  # else escape sequences would be taken out
