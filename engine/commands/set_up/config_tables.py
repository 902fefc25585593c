"""`engine config`: prints settings, and the configuration of a run."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

from engine.config.environment import slips
from engine.terminal.hints import nearest
from engine.terminal.printing import one_line, paint, print_json, print_table, print_text, say, visible
from engine.terminal.wrapping import line_width, wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from engine.api.database import Database
    from engine.config.hooks import Hook
    from engine.db.database import Row

_SETTINGS = """
    select *
    from setting_list
    where name in (select value from json_each(:names))
        or (:names = '[]' and (:all or origin <> 'default'))
"""
HOOK = "hooks."
"""What stands before the name of a hook where settings are named."""
_SHOWN_OF_A_RUN = ("model", "persona", "temperature", "effort", "context_length")


def print_run(database: Database, run: str, as_json: bool) -> None:
    """Print what a run has of its own, and its settings that are not the default."""
    row = database.row(
        "select r.alias as run, r.model, r.persona, r.temperature, r.effort, r.context_limit, p.name as project, p.root "
        "from runs as r join projects as p on p.id = r.project_id where r.alias = ?",
        (run,),
    )
    assert row is not None, "a run has a project"
    settings = database.rows("select name, value, origin from run_settings where run = ?", (run,))
    if as_json:
        print_json({**row, "settings": settings})
        return
    for key in ("run", "project", "root"):
        print_text(f"{key:17} {'-' if row[key] is None else row[key]}")
    for setting in settings:
        if setting["origin"] != "default" or setting["name"] in _SHOWN_OF_A_RUN:
            value = "-" if setting["value"] is None else setting["value"]
            print_text(f"{setting['name']:17} {value} ({setting['origin']})")


def are_settings(names: list[str]) -> bool:
    """Whether each of these is the name of a setting, to be shown."""
    import engine

    with engine.open(":memory:") as trial:
        known = {name for (name,) in trial.tuples("select name from settings")}
    return known.issuperset(names)


def print_settings(database: Database, names: list[str], as_json: bool, *, everything: bool = True) -> None:
    """Print the settings of these names, else all, or those that differ from their defaults."""
    from engine.config.configuration import plugins_of_a_project

    for name in names:
        check_known(database, name, or_run=True)
    rows = database.rows(_SETTINGS, {"names": json.dumps(names), "all": everything or as_json})
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("every setting has its default value")
    elif sys.stdout.isatty():
        _print_described(rows)
    else:
        columns = ("name", "value", "default", "origin", "meaning")
        shown = [{key: "–" if row[key] is None else row[key] for key in columns} for row in rows]
        print_table(shown, columns, "")
    if not names and not everything:
        say("'engine config --all' lists every setting", dim=True)
    for slip, meant in slips(row["name"] for row in database.rows("select name from settings")).items():
        say(visible(f"{slip}: is not a variable of the engine; did you mean {meant}?"), "yellow")
    if ignored := plugins_of_a_project():
        say(visible(f"{ignored}: [plugins] works only in your own config.toml"), "yellow")
    for row in database.rows("select * from unconfirmed_settings"):
        say(visible(f"{row['source']}: {row['name']} is ignored until you run 'engine config --confirm'"), "yellow")


def _print_described(rows: list[Row]) -> None:
    """Print each setting with its value, and its meaning below; one that is not the default with that and its origin."""
    for row in rows:
        value, default = ("–" if row[key] is None else row[key] for key in ("value", "default"))
        line = f"{row['name']} = {one_line(value, 1_000)}"
        if row["origin"] != "default":
            line += f"  ({row['origin']}; default {one_line(default, 1_000)})"
        for text in wrapped(line, line_width(), "", "  "):
            typer.echo(paint(text, None if row["origin"] == "default" else "cyan", stream=sys.stdout))
        for text in wrapped(visible(row["meaning"]), line_width(), "    ", "    "):
            typer.echo(paint(text, dim=True, stream=sys.stdout))


def print_hooks(folder: Path) -> None:
    """Print the hooks that the user and the project name, and what to do about those that do not count."""
    from engine.config.hooks import hooks_of

    for hook in hooks_of(folder):
        state = "" if hook.enabled else "; switched off"
        colour = "cyan" if hook.counts else None
        typer.echo(
            paint(visible(f"{HOOK}{hook.name} ({hook.layer}): {described(hook)}{state}"), colour, stream=sys.stdout)
        )
        if not hook.confirmed:
            told = f"{hook.source}: {HOOK}{hook.name} is ignored until you run 'engine config --confirm'"
            say(visible(told), "yellow")


def described(hook: Hook) -> str:
    """What a hook does, on a line."""
    tools = "" if list(hook.tools) == ["*"] else f" of {', '.join(hook.tools)}"
    return f"{', '.join(hook.points)}{tools}: {one_line(hook.line, 1_000)}"


def check_known(database: Database, name: str, *, or_run: bool = False) -> None:
    """Raise `NotFound` (404) for a setting that there is not, with the nearest one."""
    from engine.errors import NotFound

    if not database.value("select 1 from settings where name = ?", (name,)):
        names = [row["name"] for row in database.rows("select name from settings")]
        what = "run or setting" if or_run else "setting"
        hint = nearest(name, names, "'engine config --all' lists settings")
        raise NotFound(f"{what} {name!r}: not found; {hint}")


__all__ = ["HOOK", "are_settings", "check_known", "described", "print_hooks", "print_run", "print_settings"]
