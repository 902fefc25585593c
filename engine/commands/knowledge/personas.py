"""`engine personas`: how the model of a run is to work, those of the engine and a person's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.completion import complete_persona
from engine.cli.databases import database_or_fresh, open_existing, open_to_write
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.terminal.hints import nearest
from engine.terminal.printing import one_line, print_json, print_table, print_text, say, visible

app = typer.Typer(rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a persona.", autocompletion=complete_persona)]


@app.callback(invoke_without_command=True)
def personas(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List, add, show and remove personas, the roles that a model can have.

    \b
    Examples:
      engine personas
      engine personas add editor.md
      engine run --persona editor "Shorten notes.md"
      engine personas rm editor
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the personas for 'engine run --persona NAME'.

    \b
    Example:
      engine personas list --json
    """
    with database_or_fresh(db) as database:
        rows = database.rows("select name, origin, length(body) as chars, body as text from personas order by name")
    if as_json:
        print_json(rows)
        return
    shown = [{**row, "text": one_line(row["text"], 60)} for row in rows]
    print_table(shown, ("name", "origin", "chars", "text"), "no personas")


@app.command()
def add(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A text file with the persona. Its file name becomes the name of the persona.",
            readable=False,
        ),
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Use this name instead of the file name.")
    ] = None,
    db: DbOption = None,
) -> None:
    """Add a persona, or replace a persona that you added. Runs that use it see the new text from their next prompt on.

    \b
    Examples:
      engine personas add editor.md
      engine personas add notes/how-to-edit.md --name editor
    """
    from engine.config.personas import add as keep

    with open_to_write(db) as database:
        kept = keep(database, file, name)
    say(f"persona: {visible(kept)}")


@app.command()
def show(name: Name, db: DbOption = None) -> None:
    """Print the text of a persona.

    \b
    Example:
      engine personas show default
    """
    from engine.errors import NotFound

    with database_or_fresh(db) as database:
        body = database.value("select body from personas where name = ?", (name,))
        names = [row["name"] for row in database.rows("select name from personas")]
    if body is None:
        asked = nearest(name, names, "'engine personas list' lists them")
        raise NotFound(f"persona {name!r}: not found; {asked}")
    print_text(body)


@app.command()
def rm(name: Name, db: DbOption = None) -> None:
    """Remove a persona that you added. A persona that a run uses cannot be removed.

    \b
    Example:
      engine personas rm editor
    """
    from engine.config.personas import remove

    with open_existing(db) as database:
        remove(database, name)
    say(f"removed: persona {visible(name)}")
