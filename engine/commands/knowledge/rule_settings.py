"""`engine rules exclude`, `brackets`, `star-commands` and `devmode`: what holds for all domains of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_run, complete_star_command
from engine.cli.databases import database_or_fresh, open_existing, open_to_write
from engine.cli.options import DbOption, GlobalOption, JsonOption
from engine.terminal.printing import print_json, print_table, say

if TYPE_CHECKING:
    from engine.api.database import Database

RuleTexts = Annotated[list[str] | None, typer.Option("--rule", metavar="TEXT", help="A rule; may be repeated.")]


def root() -> str:
    """The folder whose rules are meant: the present one."""
    from engine.project.workspace import Workspace

    return str(Workspace(Path.cwd()).root)


def nearest_set(database: Database, *, everywhere: bool) -> int:
    """The set to change: of all folders, else that of this folder or the nearest above it; made where there is none."""
    from engine.rules import store

    if everywhere:
        return store.make_set(database, None)[0]
    near = database.rows(
        "select id from rule_sets where project_id is not null and id in (select value from json_each(?))",
        (str(store.sets_of(database, root())),),
    )
    return int(near[0]["id"]) if near else store.make_set(database, root())[0]


def _rows(database: Database, view: str) -> list[dict[str, Any]]:
    """The rows of a list for the sets that hold here."""
    from engine.rules import store

    return [
        row
        for number in store.sets_of(database, root())
        for row in database.rows(f"select * from {view} where rule_set_id = ?", (number,))  # noqa: S608 - ours
    ]


def exclude(
    words: Annotated[
        str | None, typer.Argument(metavar="WORDS", help="The exclude words, separated by commas; '' removes all.")
    ] = None,
    whole_words: Annotated[
        bool | None, typer.Option("--whole-words/--substrings", help="Match only whole words, or also parts of words.")
    ] = None,
    everywhere: GlobalOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show or set the words that keep domains from being loaded. If a prompt contains an exclude word, only the
    always-on domains are loaded.

    \b
    Examples:
      engine rules exclude
      engine rules exclude 'just chatting,small talk'
      engine rules exclude ''
    """
    from engine.rules import store

    if words is not None:
        with open_to_write(db) as database, database.transaction():
            number = nearest_set(database, everywhere=everywhere)
            store.change_words(database, number, None, "exclude", words.split(","), whole=whole_words)
    with database_or_fresh(db) as database:
        rows = _rows(
            database,
            "(select k.rule_set_id, coalesce(j.root, 'all folders') as 'of', k.word, k.is_whole from "
            "rule_keywords as k "
            "join rule_sets as s on s.id = k.rule_set_id left join projects as j on j.id = s.project_id "
            "where k.domain_id is null order by k.id)",
        )
    if as_json:
        print_json(rows)
        return
    print_table(rows, ("word", "of"), "no word excludes all domains")


def brackets(
    moderate: Annotated[
        int | None, typer.Option("--moderate", min=0, help="Start MODERATE after this many prompts.")
    ] = None,
    depleted: Annotated[
        int | None, typer.Option("--depleted", min=0, help="Start DEPLETED after this many prompts.")
    ] = None,
    critical: Annotated[
        int | None, typer.Option("--critical", min=0, help="Start CRITICAL after this many prompts.")
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            "--basis",
            metavar="WHAT",
            help="Decide by the number of prompts (prompts), or by the free part of the context (context).",
        ),
    ] = None,
    on: Annotated[
        bool | None,
        typer.Option("--on/--off", help="Switch all brackets on or off, or with --of the rules of one bracket."),
    ] = None,
    of: Annotated[str | None, typer.Option("--of", metavar="BRACKET", help="The bracket to change.")] = None,
    rule: RuleTexts = None,
    everywhere: GlobalOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show or change the brackets: rules that depend on how full the context is.

    The brackets are FRESH, MODERATE, DEPLETED and CRITICAL. The number of prompts, or the free part of the context,
    decides which bracket applies.

    \b
    Examples:
      engine rules brackets
      engine rules brackets --moderate 10 --depleted 20 --critical 30
      engine rules brackets --of DEPLETED --rule 'Sum up before new work'
      engine rules brackets --of FRESH --off
      engine rules brackets --basis context
    """
    from engine.rules import store
    from engine.rules.folders import Bracket

    if of is None and rule is not None:
        raise typer.BadParameter("needs --of BRACKET", param_hint="--rule")
    if of is not None and rule is None and on is None:
        raise typer.BadParameter("works only with --rule TEXT, --on or --off", param_hint="--of")
    if of is not None and of.upper() not in ("FRESH", "MODERATE", "DEPLETED"):
        raise typer.BadParameter("only FRESH, MODERATE and DEPLETED have rules of their own", param_hint="--of")
    if basis not in (None, "prompts", "context"):
        raise typer.BadParameter(f"must be prompts or context, not {basis!r}", param_hint="--basis")
    after = {"MODERATE": moderate, "DEPLETED": depleted, "CRITICAL": critical}
    if any(value is not None for value in (*after.values(), basis, on, of)):
        with open_to_write(db) as database, database.transaction():
            number = nearest_set(database, everywhere=everywhere)
            database.execute(
                "update rule_sets set brackets = coalesce(?, brackets), bracket_basis = coalesce(?, bracket_basis) "
                "where id = ?",
                (on if of is None else None, basis, number),
            )
            for name, prompts in after.items():
                database.execute(
                    "insert into rule_brackets (rule_set_id, bracket, after_prompts) select :set, :name, :prompts "
                    "where :prompts is not null "
                    "on conflict (rule_set_id, bracket) do update set after_prompts = excluded.after_prompts",
                    {"set": number, "name": name, "prompts": prompts},
                )
            if of is not None:
                (now,) = database.rows(
                    "select is_enabled, rules from bracket_list where rule_set_id = ? and bracket = ?",
                    (number, of.upper()),
                )
                is_enabled = bool(now["is_enabled"]) if on is None else on
                texts = rule if rule is not None else (now["rules"] or "").splitlines()
                store.write_bracket(database, number, Bracket(of.upper(), is_enabled=is_enabled, rules=texts))
    with database_or_fresh(db) as database:
        rows = _rows(database, "bracket_list")
        warnings = database.rows("select warning from rule_warnings where warning glob '* begins before *'")
    if as_json:
        print_json(rows)
        return
    shown = [
        {
            **row,
            "state": "off" if not row["is_on"] else "on" if row["is_enabled"] else "on, without rules",
            "of": row["folder"] or "all folders",
            "rules": row["rules"] or "",
        }
        for row in rows
    ]
    columns = ("bracket", "state", "after_prompts", "below_percent", "basis", "of", "rules")
    print_table(shown, columns, "this folder has no rules; to create rules: engine init")
    for row in warnings:
        say(f"warning: {row['warning']}", "yellow")


def star_commands(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The name of a star-command.", autocompletion=complete_star_command),
    ] = None,
    rule: RuleTexts = None,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="A short description.")
    ] = None,
    remove: Annotated[bool, typer.Option("--rm", help="Remove the star-command.")] = False,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Switch star-commands on or off.")] = None,
    strict: Annotated[
        bool | None,
        typer.Option("--strict/--anywhere", help="Recognize *NAME only after white space, or anywhere."),
    ] = None,
    everywhere: GlobalOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show or change star commands: if a prompt contains *NAME, the rules of NAME are loaded.

    \b
    Examples:
      engine rules star-commands
      engine rules star-commands brief
      engine rules star-commands haiku --description 'in verse' --rule 'Answer as a haiku'
      engine rules star-commands haiku --rm
      engine rules star-commands --strict
    """
    from engine.errors import NotFound
    from engine.rules import store
    from engine.rules.folders import STAR_COMMAND, StarCommand

    known = name.lstrip("*").lower() if name is not None else None
    if known is None and (rule is not None or description is not None or remove):
        raise typer.BadParameter("give the NAME of a star-command", param_hint="NAME")
    if known is not None and not STAR_COMMAND.fullmatch(known):
        raise typer.BadParameter(
            f"{known!r} is not a valid name: start with a letter, then use letters, digits and _", param_hint="NAME"
        )
    if remove and (rule is not None or description is not None):
        raise typer.BadParameter("removes the star-command; leave out --rule and --description", param_hint="--rm")
    if rule is not None or description is not None or remove or on is not None or strict is not None:
        with open_to_write(db) as database, database.transaction():
            number = nearest_set(database, everywhere=everywhere)
            database.execute(
                "update rule_sets set star_commands = coalesce(?, star_commands), strict_stars = coalesce(?, "
                "strict_stars) "
                "where id = ?",
                (on, strict, number),
            )
            row = database.row(
                "select * from star_command_list where rule_set_id = ? and star_command = ?", (number, known)
            )
            if remove and row is None:
                raise NotFound(f"star-command {known!r}: not found; 'engine rules star-commands' lists them")
            if remove and row is not None:
                database.execute("delete from star_commands where id = ?", (row["star_command_id"],))
            elif known is not None:
                before = row or {"description": "", "rules": None}
                texts = rule if rule is not None else (before["rules"] or "").splitlines()
                said = before["description"] if description is None else description
                store.write_star_command(database, number, StarCommand(known, said, texts))
    with database_or_fresh(db) as database:
        rows = _rows(database, "star_command_list")
    if known is not None and not remove:
        rows = [row for row in rows if row["star_command"] == known]
        if not rows:
            raise NotFound(f"star-command {known!r}: not found; 'engine rules star-commands' lists them")
    if as_json:
        print_json(rows)
        return
    shown = [
        {
            **row,
            "star_command": f"*{row['star_command']}",
            "state": "on" if row["is_on"] else "off",
            "rules": row["rules"] or "",
        }
        for row in rows
    ]
    columns = ("star_command", "state", "description", "rules")
    print_table(shown, columns, "no star-commands here; 'engine init' makes some")


def devmode(
    state: Annotated[
        str | None,
        typer.Argument(
            metavar="on|off|inherit", help="on, off, or inherit. With inherit, a run uses the value of its folder."
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Change it only for this run.", autocompletion=complete_run),
    ] = None,
    everywhere: GlobalOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show or switch devmode: the model ends each answer with the rules that were loaded and the rules that it
    followed.

    \b
    Examples:
      engine rules devmode on
      engine rules devmode off --run demo
      engine rules devmode inherit --run demo
    """
    from engine.rules import store

    if state not in (None, "on", "off", "inherit"):
        raise typer.BadParameter(f"must be on, off or inherit, not {state!r}")
    if state == "inherit" and run is None:
        raise typer.BadParameter("inherit works only for a run; add --run RUN")
    if state is not None:
        with (open_to_write if run is None else open_existing)(db) as database, database.transaction():
            if run is not None:
                store.override(database, run, "devmode", "", None if state == "inherit" else state == "on")
            else:
                number = nearest_set(database, everywhere=everywhere)
                database.execute("update rule_sets set devmode = ? where id = ?", (state == "on", number))
    with database_or_fresh(db) as database:
        is_on = database.value(
            "select coalesce((select o.is_on from rule_overrides as o join runs as r on r.id = o.run_id "
            "where r.alias = ? and o.kind = 'devmode'), (select max(devmode) from rule_sets where id in "
            "(select value from json_each(?))), 0)",
            (run, str(store.sets_of(database, root()))),
        )
    if as_json:
        print_json({"run": run, "devmode": bool(is_on)})
        return
    typer.echo(f"devmode: {'on' if is_on else 'off'}{f' in run {run}' if run else ''}")
