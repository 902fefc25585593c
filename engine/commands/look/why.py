"""`engine why`: why something in a run is as it is, in words, with the rows that say so.

spec: @why
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_reason
from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.printing import print_json, print_text, visible

if TYPE_CHECKING:
    from engine.history.why import Why


def why(
    run: RunArgument = None,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The turn, path, command, setting, rule or skill to explain; default: how the run ended.",
            autocompletion=complete_reason,
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="N", min=1, help="Explain an entry, setting, option or model as it was in turn N."
        ),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Show the SQL statement and the row behind each reason.")
    ] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Say why something in a run happened, and which rows prove it.

    It answers why a command was refused, why a model or a rule was chosen, why an entry is in the context, or why a
    prompt ended. NAME can be the number of a turn, "prompt 2", a file, another entry or the text of a command. It can
    also be a setting, an option, "model", "cost", a domain of rules, a skill or an AGENTS.md. If NAME fits several of
    these, each is explained. --rows adds the SQL statement that selects the row behind each reason.

    \b
    Examples:
      engine why
      engine why demo 3
      engine why demo notes.md --rows
      engine why demo max_strikes
      engine why demo notes.md --at 3
      engine why demo model --json
    """
    with open_to_read(db) as database:
        found = database.why(run_or_latest(database, run), name, at=at)
    if as_json:
        from dataclasses import asdict

        print_json(asdict(found))
        return
    _print(found, rows=rows)


def _print(found: Why, *, rows: bool) -> None:
    from engine.terminal.wrapping import line_width, wrapped

    width = line_width()
    about = None
    for reason in found.rows:
        if reason.about != about:
            if about is not None:
                print_text("")
            about = reason.about
            print_text("\n".join(wrapped(_flat(about), width, "", "  ")))
        print_text("\n".join(wrapped(_flat(reason.says), width, "  ", "    ")))
        if rows:
            print_text("\n".join(wrapped(_flat(reason.statement), width, "    ", "      ")))


def _flat(text: str) -> str:
    """A text as one line, with escapes for what controls a terminal: no line of a model begins one of the answer."""
    return visible(" ".join(text.split()))


__all__ = ["why"]
