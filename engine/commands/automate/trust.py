"""`engine trust`: shows what would act in a file from elsewhere, and trusts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from engine.cli.databases import look_at
from engine.cli.foreign_files import show_acts
from engine.cli.options import DbOption, JsonOption
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import print_json, print_text, say


def trust(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Trust the file without asking.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Stop trusting the file.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show what a database from somebody else would do, and trust it.

    A database from somebody else can contain triggers that act when you use it, and runs that act when you resume
    them. The command lists the triggers that belong neither to the engine nor to an installed plugin. If the file is
    from another computer or user, it also lists the actions that are waiting in its runs. Then it asks whether you
    trust the file. Your answer is stored in your own folders, for this file only. The exit code is 1 if the file
    stays untrusted. With --json it shows the list and does not ask.

    \b
    Examples:
      engine trust
      engine trust --db agent.db --yes
    """
    from engine.api import trust as trusting
    from engine.system.locate import database_to_read
    from engine.trust import trusted_folders

    path = database_to_read(db, Path.cwd())
    if forget:
        trusting.forget(path)
        counts = trusted_folders.holds(os.path.realpath(path))
        say(f"{path}: {_STILL_YOURS if counts else 'no longer trusted'}")
        return
    with look_at(path) as database:
        unknown, digest = database.unknown, database.unknown_digest
    allowed = not unknown or trusting.trusted(path) == digest
    acts = trusting.acts_of(path, digest) if allowed else []
    if as_json:
        print_json([*(each._asdict() for each in unknown), *(dict(zip(_COLUMNS, act, strict=True)) for act in acts)])
        if not yes:
            raise typer.Exit(FAILED if acts or not allowed else 0)
    else:
        for each in unknown:
            print_text(f"{each}:\n{each.sql}\n")
    if unknown and not allowed:
        if not _confirms("Let this act?", yes=yes):
            _refuse(path)
        trusting.remember(path, digest)
        acts = trusting.acts_of(path, digest)
    if acts:
        show_acts(path, acts, len(acts))
        if not _confirms("Allow this?", yes=yes):
            _refuse(path)
        trusting.know(path, digest if unknown else False, acts)
    if unknown or acts:
        say(f"{path}: trusted")
    else:
        say(f"{path}: needs no trust, because it is yours or nothing in it would act")


def _refuse(path: Path) -> NoReturn:
    """Say that the file is not trusted, and exit as a command that was refused."""
    from engine.errors import PermissionDenied

    raise PermissionDenied(f"{path}: not trusted; to trust the file: engine trust --yes")


_STILL_YOURS = "still counts as yours, because ENGINE_TRUST names its folder; move the file, or unset the variable"
_COLUMNS = ("kind", "run", "what")


def _confirms(question: str, *, yes: bool) -> bool:
    from engine.terminal.questions import at_terminal, says_yes

    return yes or (at_terminal() and says_yes(question))
