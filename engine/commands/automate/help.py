"""`engine help`: the help of a command, the list of all commands, or the commands whose help has a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from engine.cli.groups import write_list
from engine.cli.tree import COMMANDS, GROUPS, Place


def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND...", help="A command, such as 'runs rename', or a word to look for."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List all commands.")] = False,
) -> None:
    """Show the help of a command, or list all commands.

    If no command has the name COMMAND, you see the commands whose help contains this word.

    \b
    Examples:
      engine help run
      engine help runs rename
      engine help temperature
      engine help --all
    """
    asked: Any = context.parent
    if everything:
        print_every_command(asked)
        return
    words = command or []
    if len(words) == 1 and words[0] not in COMMANDS and (places := with_word(asked.command, words[0])):
        _print_lists(asked, {f"Commands whose help has {words[0]!r}": places})
        return
    for word in words:
        if not hasattr(asked.command, "resolve_command"):
            asked.fail(f"'{asked.command_path}' has no commands below it")
        name, found, _ = asked.command.resolve_command(asked, [word])
        asked = found.make_context(name, [], parent=asked, resilient_parsing=True)
        asked.resilient_parsing = False  # with which an unknown command is no error
    typer.echo(asked.get_help())


def with_word(group: Any, word: str) -> dict[str, Place]:
    """The commands below `group` whose name, help or options have a word; letter case is ignored."""
    looked_for = word.casefold()
    found = {name: place for name, place, text in _texts(group, COMMANDS) if looked_for in text.casefold()}
    found.pop("help", None)
    return found


def _texts(group: Any, places: Mapping[str, Place], above: str = "") -> Iterator[tuple[str, Place, str]]:
    for word, place in places.items():
        command = group.get_command(None, word)
        options = (f"{' '.join(each.opts)} {getattr(each, 'help', None) or ''}" for each in command.params)
        yield f"{above}{word}", place, f"{above}{word} {command.help} {' '.join(options)}"
        yield from _texts(command, place.below, f"{above}{word} ")


def print_every_command(context: Any) -> None:
    """Print all commands by their groups, and those below each."""
    below = {f"engine {name}": place.below for name, place in COMMANDS.items() if place.below}
    _print_lists(context, {**GROUPS, **below})


def _print_lists(context: Any, lists: Mapping[str, Mapping[str, Place]]) -> None:
    formatter = context.make_formatter()
    width = max(len(name) for places in lists.values() for name in places)
    for title, places in lists.items():
        write_list(formatter, title, places, width)
    typer.echo(formatter.getvalue().strip("\n"))
