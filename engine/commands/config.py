"""`engine config`: lists and changes the settings of the file, and the configuration of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .completing import complete_config
from .printing import print_json, print_table, print_text, say
from .shared import DbOption, JsonOption, absolute_model, database_or_fresh, nearest, open_to_write

if TYPE_CHECKING:
    from engine.api import Database

_OF_A_RUN = {"model": str, "temperature": float, "context_limit": int}
"""What can be changed of a run, with the types of the values."""


def config(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME[=VALUE]...",
            help="A setting to show, or to change; first a RUN for its own.",
            autocompletion=complete_config,
        ),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="Give this setting its default again.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List or change the settings of the file or of a run.

    Settings hold for the whole file. With RUN, what is shown or changed is model, temperature and context_limit of that
    run; its queued prompts keep their model. All changes are made or none.

    \b
    Examples:
      engine config
      engine config process_timeout=120 model=openai/gpt-5-mini
      engine config process_timeout
      engine config --unset process_timeout
      engine config demo
      engine config demo model=local context_limit=4096
    """
    changes = [word for word in words or [] if "=" in word]
    names = [word for word in words or [] if "=" not in word]
    if len(names) > 1:
        raise typer.BadParameter(f"{names[1]!r} is no NAME=VALUE; a change is one word, as in {names[0]}={names[1]}")
    import engine
    from engine.locate import database_to_write

    given = {name: value for name, _, value in (word.partition("=") for word in changes)}
    changing = bool(given or unset)
    if changing and not database_to_write(db, Path.cwd()).exists():
        with engine.open(":memory:") as rehearsal:  # a change that is refused makes no file
            _apply(rehearsal, names, given, unset or [])
    with open_to_write(db) if changing else database_or_fresh(db) as database:
        of_run = _apply(database, names, given, unset or [])
        if of_run:
            _print_run(database, names[0], as_json)
        else:
            _print_settings(database, [*names, *given, *(unset or [])], as_json)
            _tell_what_is_missing(database, given)


def _apply(database: Database, names: list[str], given: dict[str, str], unset: list[str]) -> bool:
    """Make the changes to the run that is named, or to settings; returns whether a run is named."""
    from engine.errors import NotFound

    of_run = bool(names) and bool(database.value("select 1 from runs where alias = ?", (names[0],)))
    if of_run and unset:
        raise typer.BadParameter(f"{unset[0]} of a run has no default; --unset is for settings of the file")
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
            _check_known(database, name)
        for name, value in given.items():
            known = absolute_model(value) if name == "model" and value else value
            database.execute("update settings set value = nullif(?, '') where name = ?", (known, name))
        for name in unset:
            database.execute(
                'update settings set value = (select "default" from setting_list where name = :name) where name = :name',
                {"name": name},
            )


def _tell_what_is_missing(database: Database, given: dict[str, str]) -> None:
    """Say what a model or a tokenizer that was set lacks on this machine; the setting is kept."""
    from engine.errors import EngineError
    from engine.model_choice import check_tokenizer, choose_model

    from .models import with_environment

    try:
        if given.get("model"):
            with with_environment(database) as beside:
                choose_model(beside, None, None)
        if given.get("tokenizer"):
            check_tokenizer(database)
    except EngineError as error:
        say(error.message, "yellow")


def _configure_run(database: Database, run: str, given: dict[str, str]) -> None:
    from engine import runs
    from engine.errors import NotFound, ValidationError
    from engine.model_choice import choose_model, sync_environment_models

    changes: dict[str, Any] = {}
    for name, text in given.items():
        if name not in _OF_A_RUN:
            hint = nearest(name, _OF_A_RUN, f"{', '.join(_OF_A_RUN)} can")
            raise NotFound(f"run {run}: {name!r} cannot be changed; {hint}")
        try:
            changes[name] = _OF_A_RUN[name](text)
        except ValueError as error:
            raise ValidationError(f"run {run}: {name} is a number, not {text!r}") from error
    if model := changes.get("model"):
        sync_environment_models(database)
        changes["model"] = choose_model(database, run, absolute_model(model))
    if changes:
        runs.configure(database, run, **changes)


def _print_run(database: Database, run: str, as_json: bool) -> None:
    row = database.row(
        "select r.alias as run, r.model, r.persona, r.temperature, r.context_limit, p.name as project, p.root "
        "from runs as r join projects as p on p.id = r.project_id where r.alias = ?",
        (run,),
    )
    assert row is not None, "a run has a project"
    if as_json:
        print_json(row)
        return
    for key, value in row.items():
        print_text(f"{key:13} {'(default)' if value is None else value}")


def _print_settings(database: Database, names: list[str], as_json: bool) -> None:
    """Print the settings of these names, or all."""
    for name in names:
        _check_known(database, name, or_run=True)
    rows = [row for row in database.rows("select * from setting_list") if not names or row["name"] in names]
    if as_json:
        print_json(rows)
        return
    shown = [
        {key: "–" if row[key] is None else row[key] for key in ("name", "value", "default", "meaning")} for row in rows
    ]
    print_table(shown, ("name", "value", "default", "meaning"), "no settings")


def _check_known(database: Database, name: str, *, or_run: bool = False) -> None:
    """Raise `NotFound` (404) for a setting that there is not, with the nearest one."""
    from engine.errors import NotFound

    if not database.value("select 1 from settings where name = ?", (name,)):
        names = [row["name"] for row in database.rows("select name from settings")]
        what = "run or setting" if or_run else "setting"
        hint = nearest(name, names, "'engine config' lists settings")
        raise NotFound(f"{what} {name!r}: there is none of that name; {hint}")


__all__ = ["config"]
