"""`engine keys`: keeps keys of providers, and says where they come from. A key is never shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_provider
from engine.cli.options import JsonOption, is_alone
from engine.terminal.exit_codes import FAILED, INTERRUPTED
from engine.terminal.hints import nearest
from engine.terminal.printing import print_json, print_table, say, visible

if TYPE_CHECKING:
    from engine.keys.keys import Holder

app = typer.Typer(rich_markup_mode=None)

ProviderArgument = Annotated[
    str, typer.Argument(metavar="PROVIDER", help="The provider, such as openai.", autocompletion=complete_provider)
]
ProjectOption = Annotated[
    bool, typer.Option("--project", help="Use the key store of this folder's project instead of your own.")
]


@app.callback(invoke_without_command=True)
def keys(context: typer.Context, as_json: JsonOption = False) -> None:
    """Store keys of providers, and show where keys come from. A key is never shown.

    You can store keys for model providers, for exa and voyage, and for services that plugins add. The engine takes a
    key from the first of these places that has the key: --key-from, the environment, .env of the folder, the
    project's key store, your own key store. A key store is a file that only you can read.

    \b
    Examples:
      engine keys set openai
      engine keys
      engine keys rm openai
    """
    if is_alone(context, as_json):
        list_(as_json=as_json)


@app.command("set", context_settings={"allow_extra_args": True})
def set_(
    context: typer.Context,
    provider: ProviderArgument,
    project: ProjectOption = False,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the key from the first line of stdin.")] = False,
) -> None:
    """Store the key of a provider. The command asks for the key and does not show it while you type.

    \b
    Examples:
      engine keys set openai
      engine keys set anthropic --project
      engine keys set exa
      pass show openai | engine keys set openai --stdin
    """
    from engine.errors import ValidationError
    from engine.keys.keys import check_key
    from engine.keys.stores import store_to_write

    if context.args:
        raise ValidationError(
            "do not write the key on the command line, where the shell stores it in its history; type it when "
            "you are asked, or pipe it with --stdin"
        )
    name = _provider(provider).name
    store = store_to_write(project=project)
    store.set(name, check_key(_from_stdin() if stdin else _asked(name)))
    say(f"stored the key of {name} in {visible(str(store.place))}")
    _say_what_counts(_provider(provider), store.kind)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the providers that have a key for this folder, and the source of each key.

    The column 'also' lists other places that have a key for the provider; these keys are not used. The column
    'differ' says whether one of these keys is different from the used key.

    \b
    Examples:
      engine keys list
      engine keys list --json
    """
    from engine.keys.keys import Keys
    from engine.keys.services import holders

    known = Keys(files=True).at(Path.cwd())
    rows = [row for provider in holders().values() if (row := _row(known, provider))]
    if as_json:
        print_json(rows)
    else:
        shown = [
            {**row, "also": ", ".join(row["also"]) or "-", "differ": "yes" if row["differ"] else "-"} for row in rows
        ]
        print_table(
            shown, ("provider", "variable", "source", "place", "also", "differ"), "no keys; see 'engine keys set -h'"
        )
    for reason in known.passed_over():
        say(visible(reason), "yellow")


@app.command()
def rm(provider: ProviderArgument, project: ProjectOption = False) -> None:
    """Delete the key that 'engine keys set' has stored for a provider.

    \b
    Examples:
      engine keys rm openai
      engine keys rm anthropic --project
    """
    from engine.keys.stores import store_to_write

    found = _provider(provider)
    store = store_to_write(project=project)
    store.remove(found.name)
    say(f"removed the key of {found.name} from {visible(str(store.place))}")
    _say_what_counts(found, None)


def _row(known: Any, provider: Holder) -> dict[str, Any] | None:
    """The key of a provider that counts, and the others; None where there is none."""
    first, *others = [*known.all(provider)] or [None]
    if first is None:
        return None
    return {
        "provider": provider.name,
        "variable": first.variable or None,
        "source": first.source,
        "place": first.place,
        "also": [other.source for other in others],
        "differ": any(other.value != first.value for other in others),
    }


def _provider(name: str) -> Holder:
    """The provider or service of that name; raises `NotFound` (404), without repeating what may be a key."""
    from engine.errors import NotFound
    from engine.keys.services import holders

    known = holders()
    if name not in known:
        hint = nearest(name.partition("=")[0].lower(), known, f"there are {', '.join(known)}")
        raise NotFound(f"there is no such provider; {hint}")
    return known[name]


def _say_what_counts(provider: Holder, kept_in: str | None) -> None:
    """Say where the key of a provider comes from in this folder, if that is not the store that was just written."""
    from engine.keys.keys import Keys

    found = Keys(files=True).at(Path.cwd()).find(provider)
    if found is not None and found.source != kept_in:
        say(f"in this folder the key of {provider.name} comes from {found.source} ({visible(found.place)})", "yellow")


def _asked(name: str) -> str:
    """A key that is typed at the terminal and not shown."""
    from getpass import getpass

    from engine.errors import ValidationError

    if not sys.stdin.isatty():
        raise ValidationError("cannot ask for the key without a terminal; pipe the key with --stdin")
    try:
        return getpass(f"Key of {name} (not shown): ", sys.stderr)
    except (EOFError, KeyboardInterrupt) as end:
        say("\nno key was stored", dim=True)
        raise typer.Exit(FAILED if isinstance(end, EOFError) else INTERRUPTED) from None


def _from_stdin() -> str:
    return sys.stdin.readline()


__all__ = ["app"]
