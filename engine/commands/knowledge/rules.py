"""`engine rules`: what the model is told by what a prompt says. Lists, makes and changes domains of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_domain
from engine.cli.databases import database_or_fresh, open_existing, open_to_write
from engine.cli.options import DbOption, GlobalOption, JsonOption, is_alone
from engine.functions.counts import counted
from engine.terminal.printing import print_json, print_table, say

from . import rule_reports, rule_settings, rule_switches
from .rule_settings import root

if TYPE_CHECKING:
    from engine.api.database import Database

app = typer.Typer(rich_markup_mode=None)

DomainArgument = Annotated[
    str, typer.Argument(metavar="DOMAIN", help="The name of a domain.", autocompletion=complete_domain)
]
Words = Annotated[
    str | None,
    typer.Option(
        "--recall",
        metavar="WORDS",
        help="Load the domain if the prompt contains one of these words, separated by commas.",
    ),
]
Excluding = Annotated[
    str | None,
    typer.Option(
        "--exclude",
        metavar="WORDS",
        help="Do not load the domain if the prompt contains one of these words, separated by commas.",
    ),
]
Globs = Annotated[
    str | None,
    typer.Option(
        "--paths",
        metavar="GLOBS",
        help="Load the domain if the prompt names one of these files, such as tests/** or *.py.",
    ),
]
RuleTexts = Annotated[list[str] | None, typer.Option("--rule", metavar="TEXT", help="A rule; may be repeated.")]
AlwaysOn = Annotated[
    bool | None,
    typer.Option("--always-on/--by-words", help="Load the domain for every prompt, or only if its words match."),
]
Whole = Annotated[
    bool | None, typer.Option("--whole-words/--substrings", help="Match only whole words, or also parts of words.")
]


@app.callback(invoke_without_command=True)
def rules(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Manage rules: instructions that the model gets with prompts that match them.

    Rules are grouped in domains, such as 'testing'. A domain is loaded if the prompt contains one of its words or
    names one of its files. Without a subcommand you see the rules of this folder.

    \b
    Examples:
      engine init
      engine rules
      engine rules new api --recall 'endpoint,route' --rule 'Every route has a test'
      engine rules explain 'add an endpoint *brief'
      engine rules disable security --run demo
    """
    if not is_alone(context, as_json, db):
        return
    rule_reports.status(as_json, db)


@app.command("list")
def list_(
    domain: Annotated[
        str | None,
        typer.Argument(metavar="DOMAIN", help="Show the rules of this domain.", autocompletion=complete_domain),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the domains of rules in this folder, or the rules of one domain.

    \b
    Examples:
      engine rules list
      engine rules list testing
      engine rules list --json
    """
    from engine.rules import store

    with database_or_fresh(db) as database:
        if domain is not None:
            number = store.domain_of(database, root(), domain)["domain_id"]
            rows = database.rows("select number, rule, path from rule_list where domain_id = ?", (number,))
            columns: tuple[str, ...] = ("number", "path", "rule")
            empty = f"domain {domain} has no rules"
        else:
            rows = [
                row
                for each in store.sets_of(database, root())
                for row in database.rows("select * from rule_domain_list where rule_set_id = ?", (each,))
            ]
            columns, empty = (
                ("domain", "state", "rules", "of", "loads it"),
                "this folder has no rules; to create rules: engine init",
            )
    if as_json:
        print_json(rows)
        return
    print_table(rows if domain else [_line(row) for row in rows], columns, empty)


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """A domain as a line of the list."""
    called = [row["recall"], row["paths"], f"not by {row['exclude']}" if row["exclude"] else None]
    return {
        **row,
        "state": ("always on" if row["always_on"] else "active") if row["is_active"] else "inactive",
        "of": row["folder"] or "all folders",
        "loads it": "every prompt" if row["always_on"] else "; ".join(filter(None, called)),
    }


@app.command()
def new(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="The name of the domain: letters, digits, - and _.")],
    rule: RuleTexts = None,
    recall: Words = None,
    exclude: Excluding = None,
    paths: Globs = None,
    always_on: AlwaysOn = None,
    whole_words: Whole = None,
    everywhere: GlobalOption = False,
    db: DbOption = None,
) -> None:
    """Create a domain. Without --rule, your editor opens, and you write the rules there.

    \b
    Examples:
      engine rules new api --recall 'endpoint,route' --paths 'src/api/**' --rule 'Every route has a test'
      engine rules new style --always-on --rule 'British spelling'
    """
    from engine.errors import Conflict
    from engine.rules import store
    from engine.rules.folders import Domain, domain_name

    name = domain_name(domain, "domain")
    if name != domain:
        raise typer.BadParameter(f"{domain!r} is not a valid name; use {name!r}", param_hint="DOMAIN")
    folder = None if everywhere else root()
    with open_to_write(db) as database:
        # nobody writes rules in vain
        if database.value("select 1 from rule_domain_list where domain = ? and folder is ?", (name, folder)):
            raise Conflict(f"domain {name}: already exists; to change it: engine rules edit {name}")
        texts = rule if rule is not None else _edited(name, [])
        with database.transaction():
            number, _ = store.make_set(database, folder)
            store.write_domain(database, number, Domain(name, always_on=bool(always_on), whole_words=bool(whole_words)))
            given = {"recall": recall, "exclude": exclude, "paths": paths}
            _change(database, number, name, given, always_on, whole_words, texts)
            warnings = _warnings(database, name)
    say(f"added: domain {name}, {counted(len(texts), 'rule')}")
    for warning in warnings:
        say(f"warning: {warning}", "yellow")


@app.command()
def edit(
    domain: DomainArgument,
    rule: RuleTexts = None,
    recall: Words = None,
    exclude: Excluding = None,
    paths: Globs = None,
    always_on: AlwaysOn = None,
    whole_words: Whole = None,
    db: DbOption = None,
) -> None:
    """Change a domain. Without an option, its rules open in $EDITOR, each on a line '- RULE'.

    An option replaces the old value; '' removes the old value. --rule replaces all rules of the domain.

    \b
    Examples:
      engine rules edit testing
      engine rules edit testing --recall 'test,TDD,coverage' --whole-words
      engine rules edit style --by-words --recall 'write,text'
    """
    from engine.rules import store

    given = {"recall": recall, "exclude": exclude, "paths": paths}
    options = [*given.values(), always_on, whole_words, rule]
    with open_existing(db) as database:
        row = store.domain_of(database, root(), domain)
        texts = rule
        if all(option is None for option in options):
            rows = database.rows("select rule from rule_list where domain_id = ?", (row["domain_id"],))
            texts = _edited(row["domain"], [each["rule"] for each in rows])
        with database.transaction():
            _change(database, row["rule_set_id"], row["domain"], given, always_on, whole_words, texts)
            warnings = _warnings(database, row["domain"])
        changed = store.domain_of(database, root(), domain)
    called = _line(changed)["loads it"] or "nothing"
    say(f"domain {changed['domain']}: {counted(changed['rules'], 'rule')}; called up by {called}")
    for warning in warnings:
        say(f"warning: {warning}", "yellow")


def _change(
    database: Database,
    rule_set: int,
    name: str,
    given: dict[str, str | None],
    always_on: bool | None,
    whole: bool | None,
    texts: list[str] | None,
) -> None:
    """Change what is given of a domain."""
    from engine.rules import store

    number = database.value("select id from rule_domains where rule_set_id = ? and name = ?", (rule_set, name))
    database.execute("update rule_domains set always_on = coalesce(?, always_on) where id = ?", (always_on, number))
    for kind, words in given.items():
        if words is not None:
            store.change_words(database, rule_set, number, store.KINDS[kind], words.split(","), whole=whole)
    if whole is not None:
        database.execute("update rule_keywords set is_whole = ? where domain_id = ?", (whole, number))
    if texts is not None:
        store.write_rules(database, number, texts)


def _edited(name: str, now: list[str]) -> list[str]:
    """The rules of a domain as the person left them in an editor, which without a terminal would wait for ever."""
    from engine.errors import Conflict
    from engine.functions.rules.files import rules_in, rules_text
    from engine.terminal.editor_and_pager import chosen_editor, edited
    from engine.terminal.questions import terminal

    if chosen_editor() is None and terminal() is None:
        raise typer.BadParameter("an editor needs a terminal; give each rule with --rule TEXT", param_hint="--rule")
    text = edited(rules_text(name, now), "rules.md")
    if text is None:
        raise Conflict(f"domain {name}: no rules were given; use --rule TEXT")
    rules = rules_in(text)
    if not (rules or now):
        raise Conflict(f"domain {name}: the saved text has no line '- RULE', so nothing was changed")
    return rules


def _warnings(database: Database, name: str) -> list[str]:
    return [
        row["warning"]
        for row in database.rows("select warning from rule_warnings where warning like 'domain ' || ? || ':%'", (name,))
    ]


@app.command()
def rm(domain: DomainArgument, db: DbOption = None) -> None:
    """Remove a domain. Runs that used its rules keep them in their record.

    \b
    Example:
      engine rules rm security
    """
    from engine.rules import store

    with open_existing(db) as database, database.transaction():
        row = store.domain_of(database, root(), domain)
        store.write_rules(database, row["domain_id"], [])
        database.execute("delete from rule_domains where id = ?", (row["domain_id"],))
    say(f"removed: domain {row['domain']}, {counted(row['rules'], 'rule')}")


for _each in (
    rule_settings.exclude,
    rule_settings.brackets,
    rule_settings.devmode,
    rule_switches.enable,
    rule_switches.disable,
    rule_reports.explain,
    rule_reports.stats,
):
    app.command(_each.__name__)(_each)
app.command("star-commands")(rule_settings.star_commands)
app.command("import")(rule_reports.import_)
