"""`engine trust`: shows and trusts objects of others in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .printing import print_json, print_text, say
from .shared import DbOption, JsonOption, look_at


def trust(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Trust them without asking.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Trust nothing in the file any more.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show and trust objects of others in the file.

    These are objects on the engine's tables, such as triggers, that neither the engine nor an installed plugin made. Your
    decision is stored in your configuration folder, for this file and these objects only.

    \b
    Examples:
      engine trust
      engine trust --db agent.db --yes
    """
    from engine.locate import database_to_read
    from engine.trust import remember

    from .asking import at_terminal

    path = database_to_read(db, Path.cwd())
    if forget:
        remember(path, None)
        say(f"{path}: nothing of it is trusted")
        return
    with look_at(path) as database:
        unknown, digest = database.unknown, database.unknown_digest
    if as_json:
        print_json([each._asdict() for each in unknown])
    else:
        for each in unknown:
            print_text(f"{each}:\n{each.sql}\n")
    if not unknown:
        say(f"{path}: holds only what the engine, its plugins and apps on tables of their own made")
    elif yes or (at_terminal() and sys.stdin.isatty() and typer.confirm("Let this act?", err=True)):
        remember(path, digest)
        say(f"{path}: trusted")
    else:
        say(f"{path}: not trusted; --yes trusts what is shown")
