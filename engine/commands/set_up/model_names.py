"""`engine models add` and `rm`: names for models, for the runs of a database or for all of a user's runs.

spec: @model_addresses
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.databases import database_or_fresh, open_to_write
from engine.cli.model_options import model_options
from engine.cli.options import DbOption, EffortOption, ModelOptionOption
from engine.models.availability import absolute_model, keys_here, problem
from engine.terminal.printing import say, visible


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that you will use with --model.")],
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="provider/name, http://HOST/v1#name, gguf:FILE, scripted:FILE, replay:DB#RUN, or local.",
        ),
    ],
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", metavar="URL", help="The address of a server with OpenAI's API. No key is sent to it."
        ),
    ] = None,
    user: Annotated[
        bool, typer.Option("--user", help="Store the name in your config.toml, for all databases.")
    ] = False,
    context: Annotated[
        int | None, typer.Option("--context", metavar="N", min=256, help="Context window in tokens.")
    ] = None,
    max_output: Annotated[
        int | None,
        typer.Option(
            "--max-output", metavar="N", min=1, help="Limit of an answer in tokens; default: the provider's limit."
        ),
    ] = None,
    native: Annotated[
        bool,
        typer.Option(
            "--native", help="Use the provider's tool calls. Without it the model calls tools by tags in its answer."
        ),
    ] = False,
    effort: EffortOption = None,
    option: ModelOptionOption = None,
    price: Annotated[
        str | None,
        typer.Option(
            "--price",
            metavar="IN/OUT[/CACHED]",
            help="Prices per million tokens in US dollars: packet, answer, cached tokens.",
        ),
    ] = None,
    images: Annotated[
        bool | None,
        typer.Option(
            "--images/--no-images", help="Whether the model accepts pictures; default: guessed from its name."
        ),
    ] = None,
    db: DbOption = None,
) -> None:
    """Give a model a name of your own, or change what the name means.

    \b
    Examples:
      engine models add fast openai/gpt-5-mini --context 200000 --native
      engine models add coder qwen2.5-coder --base-url http://127.0.0.1:1234/v1 --user
      engine models add small ollama/qwen3:8b
      engine models add deep openai/gpt-5 --effort high
      engine models add exact openai/gpt-4.1 --option seed=7 --option top_p=0.2
      engine models add house openai/our-model --price 0.25/2/0.025
      engine models add mine gguf:qwen2.5-7b-instruct-q4_k_m.gguf --context 16384

    --base-url is the address of a server such as LM Studio (port 1234), vLLM (8000) or llama.cpp (8080); MODEL is
    then the server's own name of the model. 'engine doctor' finds servers on this machine. If the server needs a key,
    set OPENAI_BASE_URL and OPENAI_API_KEY instead.

    A model in a GGUF file runs on this machine. Its context window is as large as in its training, but at most 32768
    tokens; --context sets another size. If the window is smaller than 8192 tokens, packets contain only the entries
    that fit the prompt. --price is used if the provider reports no cost.
    """
    from engine.driving.model_choice import full_name
    from engine.errors import NotFound, ValidationError
    from engine.models.addresses import joined
    from engine.models.aliases import parsed_price

    if not name.strip():
        raise ValidationError("the name is empty; give one, such as fast")
    prices = None if price is None else parsed_price(price)
    if base_url is not None:
        actual = joined(base_url, model)
    else:
        with database_or_fresh(db) as database:
            actual = full_name(database, absolute_model(model))
    profile = "full"
    if actual.startswith("gguf:"):
        actual, context, profile = _of_file(actual, context)
    hint = problem(actual)
    if hint and hint.startswith("model "):
        raise NotFound(hint)
    if effort is not None:
        _check_effort(name, actual, effort)
    if options := model_options(option):
        _check_options(actual, options)
    said = {
        "context": context,
        "max_output": max_output,
        "native": native,
        "profile": profile,
        "images": images,
        "effort": effort,
        "options": options,
    }
    whose = _keep_for_all(name, actual, said, price) if user else _keep(db, name, actual, said, prices)
    window = f", {context} tokens, {profile} packets" if actual.startswith("gguf:") else ""
    say(f"{name}: {actual}{window}, {whose}")
    if hint:
        say(hint, "yellow")


def _keep(
    db: Path | None, name: str, actual: str, said: dict[str, Any], price: tuple[float, float, float | None] | None
) -> str:
    """Keep a name in the database; returns for which runs it holds."""
    from engine.models.aliases import add_alias

    with open_to_write(db) as database:
        add_alias(database, name, actual, **said, price=price)
        return f"for the runs of {visible(str(database.path))}; --user makes it hold for all your runs"


def _keep_for_all(name: str, actual: str, said: dict[str, Any], price: str | None) -> str:
    """Keep a name in the user's configuration; returns for which runs it holds."""
    from engine.config import user_models

    user_models.add(name, {"model": actual, **said, "price": price})
    return f"for all your runs ({visible(str(user_models.place()))})"


def rm(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to remove.")],
    user: Annotated[bool, typer.Option("--user", help="Remove the name from your config.toml.")] = False,
    db: DbOption = None,
) -> None:
    """Remove the name of a model. Runs that used the model stay as they are.

    \b
    Examples:
      engine models rm fast
      engine models rm coder --user
    """
    from engine.config import user_models
    from engine.models.aliases import remove_alias
    from engine.system.locate import database_to_read

    if user:
        user_models.remove(name)
        origin = "client"
    else:
        with open_to_write(database_to_read(db, Path.cwd())) as database:
            origin = remove_alias(database, name)
    say(f"removed: {name}{_COMES_BACK.get(origin, '').format(name=visible(name))}")


_COMES_BACK = {
    "environment": "; unset ENGINE_MODEL_… too, or it comes back",
    "user": "; your configuration has it, so it comes back until: engine models rm {name} --user",
}


def _check_effort(name: str, actual: str, effort: str) -> None:
    """Raise `ValidationError` (400) for an effort that is none, or that the model does not take."""
    import engine
    from engine.driving.model_choice import check_effort
    from engine.errors import ValidationError
    from engine.functions.values import value_error

    if wrong := value_error(effort, "effort", None, None):
        raise ValidationError(f"model {name!r}: the effort {wrong}")
    with engine.open(":memory:") as beside:
        beside.keys = keys_here()
        check_effort(beside, None, actual, effort)


def _check_options(actual: str, options: str) -> None:
    """Raise `ValidationError` (400) for settings that the model does not take."""
    import engine
    from engine.driving.model_choice import check_model_options

    with engine.open(":memory:") as beside:
        beside.keys = keys_here()
        check_model_options(beside, None, actual, options)


def _of_file(name: str, context: int | None) -> tuple[str, int, str]:
    """The name of a GGUF file's model with its window, the window, and the profile; raises like `window_of`."""
    from engine.models.gguf import FULL_FROM, split_name, window_of

    if context is not None:
        name = f"gguf:{split_name(name)[0]}#{context}"
    window = window_of(name)
    return f"gguf:{split_name(name)[0]}#{window}", window, "full" if window >= FULL_FROM else "compact"
