"""`engine config`: lists and changes settings: of the file, the user, the project, and the configuration of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engine.cli.completion import complete_config, complete_setting
from engine.cli.databases import database_or_fresh, open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.models.availability import absolute_model
from engine.terminal.hints import nearest
from engine.terminal.printing import one_line, say, visible

from .config_tables import HOOK, are_settings, check_known, described, print_hooks, print_run, print_settings

if TYPE_CHECKING:
    from engine.api.database import Database

_OF_A_RUN = {"model": str, "temperature": float, "effort": str, "context_limit": int}
"""What can be changed of a run, with the types of the values."""


def config(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME[=VALUE]...",
            help="Settings to show or change. Put a RUN first to change its options.",
            autocompletion=complete_config,
        ),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(
            "--unset",
            metavar="NAME",
            help="Remove the value; the same as NAME=.",
            autocompletion=complete_setting,
        ),
    ] = None,
    empty: Annotated[
        list[str] | None,
        typer.Option(
            "--empty",
            metavar="NAME",
            help="Set NAME to an empty text.",
            autocompletion=complete_setting,
        ),
    ] = None,
    user: Annotated[
        bool, typer.Option("--user", help="Change your config.toml, which applies to all databases.")
    ] = False,
    project: Annotated[bool, typer.Option("--project", help="Change engine.toml in the project's folder.")] = False,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Agree to the settings and hooks of engine.toml that need your consent."),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="List every setting.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List or change settings.

    Without NAME it lists the settings that differ from their defaults. --all and --json list every setting. Without
    --user or --project you change the setting in this database.

    A setting can be set in several places. The first place in this list counts: the environment variable ENGINE_NAME
    (env), the database (file), the project's engine.toml (project), your config.toml (user), the default. The column
    'origin' shows the place that counted. NAME= removes the value from the database. With --user or --project, NAME=
    removes the value from your config.toml or from engine.toml.

    With commit=edit or commit=prompt, the engine commits the edits of runs to git. With check="make test", the command
    'make test' runs after edits, and the model reads its failures.

    A hook is a command of your own that runs at certain points of a run and can refuse the next step. To add a hook, write
    a table [hooks.NAME] in config.toml or engine.toml. Its keys are on (before_prompt, before_tool, after_tool, end),
    command, tools, timeout and required. Hooks are listed below the settings.

    If the first word is a RUN, you change model, temperature, effort or context_limit of that run. Prompts that are
    queued keep their model. If one change is refused, none of the changes is made.

    \b
    Examples:
      engine config
      engine config --all
      engine config process_timeout=120 model=openai/gpt-5-mini
      engine config --user model=anthropic/claude-sonnet-4-5 temperature=0
      engine config --project kept_in_context="known://plan*"
      engine config process_timeout=
      engine config --empty instruction_files
      engine config demo
      engine config demo model=local context_limit=4096
    """
    changes = [word for word in words or [] if "=" in word]
    names = [word for word in words or [] if "=" not in word]
    if len(names) > 1 and (changes or not are_settings(names)):
        raise typer.BadParameter(f"{names[1]!r} is not NAME=VALUE; {_meant(names)}")
    if user + project + confirm > 1:
        raise typer.BadParameter("use only one of --user, --project and --confirm")
    said = {name: value for name, _, value in (word.partition("=") for word in changes)}
    given = {name: value for name, value in said.items() if value} | dict.fromkeys(empty or [], "")
    unset = [*(unset or []), *(name for name, value in said.items() if not value)]
    if emptied := next((name for name in empty or [] if said.get(name)), None):
        raise typer.BadParameter(f"{emptied} cannot be set and emptied at the same time")
    if twice := next((name for name in unset if name in given), None):
        raise typer.BadParameter(f"{twice} cannot be set and unset at the same time")
    if confirm:
        if given or unset:
            raise typer.BadParameter("--confirm needs names without values")
        _confirm(db, names)
        return
    if user or project:
        _change_outside("user" if user else "project", db, names, given, unset)
    elif given or unset:
        _change_inside(db, names, given, unset, as_json)
        return
    _show(db, [*names, *given, *unset], as_json, everything)
    if given and (user or project):
        _tell_what_wins(db, "user" if user else "project", list(given))


def _meant(words: list[str]) -> str:
    """What to type instead of words of which none is a change, such as `set NAME VALUE`."""
    verb, name = words[:2]
    if verb == "get":
        return f"'engine config {name}' shows it"
    if verb == "unset":
        return f"'engine config --unset {name}' does that"
    if verb == "set":
        return f"a change is one word: 'engine config {name}={words[2] if len(words) > 2 else 'VALUE'}'"
    return f"a change is one word, as in {verb}={name}"


def _change_inside(db: Path | None, names: list[str], given: dict[str, str], unset: list[str], as_json: bool) -> None:
    """Change the settings of the file, or a run; a change that is refused makes no file."""
    import engine
    from engine.system.locate import database_to_write

    if not database_to_write(db, Path.cwd()).exists():
        with engine.open(":memory:", config=True) as rehearsal:
            _apply(rehearsal, names, given, unset)
    with open_to_write(db) as database:
        if _apply(database, names, given, unset):
            print_run(database, names[0], as_json)
        else:
            print_settings(database, [*names, *given, *unset], as_json)
            _tell_what_is_missing(database, given)
            if given:
                _tell_what_wins(db, "file", list(given))


def _change_outside(
    layer: Literal["user", "project"], db: Path | None, names: list[str], given: dict[str, str], unset: list[str]
) -> None:
    """Change the user's own defaults or those of the project, in their file; a value that is refused changes nothing."""
    import engine
    from engine.config.configuration import change

    if names and (given or unset):
        raise typer.BadParameter(f"{names[0]!r} is not NAME=VALUE")
    values: dict[str, str | int | float | None] = dict.fromkeys(unset)
    with engine.open(":memory:") as trial:
        for name in (*given, *unset):
            check_known(trial, name)
        for name, value in given.items():
            text = absolute_model(value) if name == "model" and value else value
            trial.insert("_set_layer", name=name, layer=layer, value=text)
            kind = trial.value("select kind from settings where name = ?", (name,))
            values[name] = text if kind == "text" or not text else int(text) if text.isdecimal() else float(text)
    if values:
        change(layer, folder_of(db), values)


def _confirm(db: Path | None, names: list[str]) -> None:
    """Confirm what the project's file says, of these settings and hooks or of all, and repeat it."""
    from engine.config.configuration import confirm
    from engine.config.hooks import confirm_hooks, unconfirmed_hooks

    settings = [name for name in names if not name.startswith(HOOK)]
    with configured(db) as beside:
        for name in settings:
            check_known(beside, name)
        waiting = beside.rows("select * from unconfirmed_settings")
    rows = [row for row in waiting if not names or row["name"] in names]
    hooks = [hook for hook in unconfirmed_hooks(folder_of(db)) if not names or f"{HOOK}{hook.name}" in names]
    for row in rows:
        say(visible(f"{row['source']}: {row['name']} = {row['value']}"))
    for hook in hooks:
        say(visible(f"{hook.source}: {HOOK}{hook.name}: {described(hook)}"))
    confirm(folder_of(db), [row["name"] for row in rows])
    if hooks:
        confirm_hooks(folder_of(db), [hook.name for hook in hooks])
    confirmed = [row["name"] for row in rows] + [f"{HOOK}{hook.name}" for hook in hooks]
    say(f"confirmed: {', '.join(confirmed)}" if confirmed else "nothing to confirm")


def folder_of(db: Path | None) -> Path:
    """The folder of the project: that of the file."""
    from engine.config.configuration import project_folder
    from engine.system.locate import database_to_write

    return project_folder(database_to_write(db, Path.cwd()))


@contextmanager
def configured(db: Path | None) -> Iterator[Database]:
    """A database in memory with the settings as they are in force for this user: looking changes no file."""
    import engine
    from engine.config.configuration import copy_settings, load

    with database_or_fresh(db) as database, engine.open(":memory:") as beside:
        copy_settings(database, beside)
        beside.config = True
        load(beside, folder_of(db))
        yield beside


def _show(db: Path | None, names: list[str], as_json: bool, everything: bool) -> None:
    """Print the settings of these names, those that differ from their defaults, or all; or a run."""
    if len(names) == 1:
        with database_or_fresh(db, quietly=True) as database:
            if database.value("select 1 from runs where alias = ?", (names[0],)):
                print_run(database, names[0], as_json)
                return
    with configured(db) as beside:
        print_settings(beside, names, as_json, everything=everything)
    if not names and not as_json:
        print_hooks(folder_of(db))


_WINNING = """
    select name, value, origin
    from setting_list
    where name in (select value from json_each(:names))
        and (origin = 'env' or (origin = 'file' and :layer <> 'file') or (origin = 'project' and :layer = 'user'))
"""


def _tell_what_wins(db: Path | None, layer: str, names: list[str]) -> None:
    """Name the settings that were changed in `layer`, and have another value here all the same."""
    with configured(db) as beside:
        for row in beside.rows(_WINNING, {"names": json.dumps(names), "layer": layer}):
            if row["origin"] == "env":
                say(
                    f"{row['name']}: the variable ENGINE_{row['name'].upper()} says {one_line(row['value'])!r}",
                    "yellow",
                )
                continue
            where, flag = ("this file", "") if row["origin"] == "file" else ("the project", "--project ")
            told = f"here it stays {one_line(row['value'])!r}, because {where} sets it"
            say(f"{row['name']}: {told}; 'engine config {flag}{row['name']}=' removes it", "yellow")


def _apply(database: Database, names: list[str], given: dict[str, str], unset: list[str]) -> bool:
    """Make the changes to the run that is named, or to settings; returns whether a run is named."""
    from engine.errors import NotFound

    of_run = bool(names) and bool(database.value("select 1 from runs where alias = ?", (names[0],)))
    if of_run and (none := [*unset, *(name for name, value in given.items() if not value)]):
        raise typer.BadParameter(f"{none[0]} of a run needs a value; NAME=, --unset and --empty are for settings")
    if of_run:
        _configure_run(database, names[0], given)
    elif names and (given or unset):
        raise NotFound(f"run {names[0]!r}: there is no such run; 'engine runs' lists them")
    elif given or unset:
        _change(database, given, unset)
    return of_run


def _change(database: Database, given: dict[str, str], unset: list[str]) -> None:
    """Set settings, or give them their defaults; all of them or none."""
    with database.transaction():
        for name in (*given, *unset):
            check_known(database, name)
        for name, value in given.items():
            text = absolute_model(value) if name == "model" and value else value
            database.insert("_set_layer", name=name, layer="file", value=text)
        for name in unset:
            database.insert("_unset_layer", name=name, layer="file")


def _tell_what_is_missing(database: Database, given: dict[str, str]) -> None:
    """Say what a model or a tokenizer that was set lacks on this machine; the setting is kept."""
    from engine.cli.environment import with_environment
    from engine.driving.model_choice import check_tokenizer, choose_model
    from engine.errors import EngineError

    try:
        if given.get("model"):
            with with_environment(database) as beside:
                choose_model(beside, None, None, Path.cwd())
        if given.get("tokenizer"):
            check_tokenizer(database)
    except EngineError as error:
        say(error.message, "yellow")


def _configure_run(database: Database, run: str, given: dict[str, str]) -> None:
    from engine.driving import runs
    from engine.driving.model_choice import choose_model, sync_environment_models
    from engine.errors import NotFound, ValidationError

    changes: dict[str, Any] = {}
    for name, text in given.items():
        if name not in _OF_A_RUN:
            hint = nearest(name, _OF_A_RUN, f"{', '.join(_OF_A_RUN)} can")
            raise NotFound(f"run {run}: {name!r} cannot be changed; {hint}")
        try:
            changes[name] = _OF_A_RUN[name](text)
        except ValueError as error:
            raise ValidationError(f"run {run}: {name} must be a number, not {text!r}") from error
    if model := changes.get("model"):
        sync_environment_models(database)
        changes["model"] = choose_model(database, run, absolute_model(model))
    if changes:
        runs.configure(database, run, **changes)


__all__ = ["config"]
