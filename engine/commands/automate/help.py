"""`engine help`: the help of a command, or the list of all commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from engine.cli.groups import write_list
from engine.cli.tree import DAILY, REST


def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="A command, such as 'runs rename'.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List every command.")] = False,
) -> None:
    """Show the help of a command; with --all list every command.

    \b
    Examples:
      engine help run
      engine help runs rename
      engine help --all
    """
    asked: Any = context.parent
    if everything:
        print_every_command(asked)
        return
    for word in command or ():
        if not hasattr(asked.command, "resolve_command"):
            asked.fail(f"'{asked.command_path}' has no commands below it")
        name, found, _ = asked.command.resolve_command(asked, [word])
        asked = found.make_context(name, [], parent=asked, resilient_parsing=True)
        asked.resilient_parsing = False  # with which an unknown command is no error
    typer.echo(asked.get_help())


def print_every_command(context: Any) -> None:
    """Print all commands by their groups, and those below each."""
    formatter = context.make_formatter()
    groups = {**DAILY, **REST}
    width = max(len(name) for places in groups.values() for name in places)
    for title, places in groups.items():
        write_list(formatter, title, places, width)
    for places in groups.values():
        for name, place in places.items():
            if place.below:
                write_list(formatter, f"engine {name}", place.below, width)
    typer.echo(formatter.getvalue().strip("\n"))
