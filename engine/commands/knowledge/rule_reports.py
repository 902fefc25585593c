"""`engine rules` itself, `explain`, `stats` and `import`: what holds, what a prompt loads and why, what that cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import database_or_fresh, open_to_read, open_to_write
from engine.cli.options import DbOption, GlobalOption, JsonOption
from engine.functions.counts import counted
from engine.terminal.printing import print_json, print_table, say, visible
from engine.terminal.rules import say_imported

from .rule_settings import root

_MEANS = {
    "always_on": "loaded: always on",
    "matched": "loaded",
    "excluded": "kept away",
    "global_exclude": "all switched off",
    "available": "not loaded: the prompt has none of its words",
    "star_command": "loaded",
}


def status(as_json: bool, db: Path | None) -> None:
    """Print what holds in this folder."""
    from engine.rules import store

    with database_or_fresh(db) as database:
        numbers = store.sets_of(database, root())
        sets = [
            row
            for number in numbers
            for row in database.rows(
                "select s.id, coalesce(j.root, 'all folders') as 'of', s.devmode, s.brackets, s.bracket_basis, "
                "s.star_commands, (select count(*) from rule_domains where rule_set_id = s.id) as domains, "
                "(select count(*) from rule_domains where rule_set_id = s.id and is_active) as active, "
                "(select count(*) from rule_list where rule_set_id = s.id) as rules, "
                "(select count(*) from star_commands where rule_set_id = s.id) as stars "
                "from rule_sets as s left join projects as j on j.id = s.project_id where s.id = ?",
                (number,),
            )
        ]
        warnings = [row["warning"] for row in database.rows("select warning from rule_warnings")]
    if as_json:
        print_json({"sets": sets, "warnings": warnings})
        return
    if not sets:
        say("this folder has no rules; to create rules: engine init")
    for row in sets:
        off = "" if row["star_commands"] else " (off)"
        typer.echo(visible(f"rules of {row['of']}"))
        typer.echo(f"  {row['active']} of {counted(row['domains'], 'domain')} active, {counted(row['rules'], 'rule')}")
        basis = row["bracket_basis"] if row["brackets"] else "nothing (off)"
        typer.echo(f"  {counted(row['stars'], 'star-command')}{off}, brackets by {basis}")
        typer.echo(f"  devmode {'on' if row['devmode'] else 'off'}")
    for warning in warnings:
        say(f"warning: {visible(warning)}", "yellow")


def explain(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The text of the prompt, in quotes.")],
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Explain the prompt as if it were the next prompt of this run.",
            autocompletion=complete_run,
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show which rules a prompt would load, and why. This stores nothing and asks no model.

    \b
    Examples:
      engine rules explain 'write a test for the login *brief'
      engine rules explain 'go on' --run demo --json
    """
    from engine.rules import store
    from engine.system.locate import database_to_read

    with open_to_write(database_to_read(db, Path.cwd())) as database:
        found = store.explain(database, prompt, run=run, root=None if run else root())
    if as_json:
        print_json(found)
        return
    loaded = {line["label"]: line["number"] for line in found["lines"] if line["part"] == "loaded"}
    rows = [_reason(row, loaded) for row in found["findings"]]
    print_table(rows, ("what", "becomes", "because"), "no domain and no star-command is loaded")
    bracket = f"bracket {found['bracket']}, " if found["bracket"] else ""
    left = next((line["number"] for line in found["lines"] if line["part"] == "left_out"), 0)
    say(
        f"\n{bracket}prompt {found['prompts']}, {found['context_left']} % of the context left, devmode "
        f"{'on' if found['devmode'] else 'off'}; {found['chars']:,} characters of rules loaded, "
        f"{max(found['all_chars'] - found['chars'], 0):,} spared"
        + (f"; no room for {counted(left, 'line')}" if left else "")
    )


def _reason(row: dict[str, Any], loaded: dict[str, int]) -> dict[str, str]:
    """Why something is loaded or not, as a line of the table."""
    what = (
        "all domains" if row["name"] is None else f"*{row['name']}" if row["found"] == "star_command" else row["name"]
    )
    count = (
        f", {counted(loaded[row['name']], 'rule')}"
        if row["found"] in ("always_on", "matched") and row["name"] in loaded
        else ""
    )
    word = f"the prompt has {row['word']!r}" if row["word"] else ""
    if row["path"]:
        word = f"{row['path']!r} matches {row['word']!r}"
    return {"what": what, "becomes": _MEANS[row["found"]] + count, "because": word}


def stats(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only this run; default: all.", autocompletion=complete_run)
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show how many tokens the rules added and saved for each prompt.

    'Saved' are the tokens of active domains that were not loaded.

    \b
    Examples:
      engine rules stats
      engine rules stats demo --json
    """
    from engine.cli.run_argument import run_or_latest

    with open_to_read(db) as database:
        alias = None if run is None else run_or_latest(database, run)
        rows = database.rows("select * from rule_loads where run = coalesce(?, run)", (alias,))
        total = database.row(
            "select count(*) as prompts, coalesce(sum(tokens * turns), 0) as tokens, "
            "coalesce(sum(saved_tokens * turns), 0) as saved_tokens from rule_loads where run = coalesce(?, run)",
            (alias,),
        )
    assert total is not None, "an aggregate has a row"
    if as_json:
        print_json({"loads": rows, "total": total})
        return
    columns = ("run", "loop", "bracket", "domains", "star_commands", "turns", "tokens", "saved_tokens")
    print_table(rows, columns, "no prompt has used rules yet")
    if rows:
        say(
            f"\n{counted(total['prompts'], 'prompt')}; over all turns about {total['tokens']:,} tokens of rules sent, "
            f"{total['saved_tokens']:,} spared"
        )


def import_(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLACE",
            help="A folder or a file. Default: .opencarly or .carl in this folder or a folder above it.",
            readable=False,
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing domains of the same name.")] = False,
    recall: Annotated[
        str | None, typer.Option("--recall", metavar="WORDS", help="For a single file: words that load its rules.")
    ] = None,
    always_on: Annotated[
        bool, typer.Option("--always-on", help="For a single file: load its rules for every prompt.")
    ] = False,
    everywhere: GlobalOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Import rules from a folder .opencarly or .carl, or from a file with a line '- RULE' for each rule.

    Existing domains are kept, unless you give --replace. If the files change later, the next prompt imports the
    changes.

    \b
    Examples:
      engine rules import
      engine rules import ../other/.opencarly --replace
      engine rules import docs/style.md --recall 'write,text'
    """
    from engine.errors import NotFound
    from engine.rules import imports, sources

    found_at = place or sources.nearest(Path(root()))
    if found_at is None:
        raise NotFound("no folder .opencarly or .carl here, in a folder above or in your home; name a folder or a file")
    found = sources.read(found_at, Path(root()))
    if (recall is not None or always_on) and found_at.is_dir():
        raise typer.BadParameter(
            "work only for a single file; for a folder, the manifest sets them", param_hint="--recall, --always-on"
        )
    for domain in found.domains if not found_at.is_dir() else []:
        domain.recall, domain.always_on = (recall or "").split(","), always_on
    with open_to_write(db) as database:
        report = imports.add(database, None if everywhere else root(), found, replace=replace)
    if as_json:
        print_json({"source": found.source, **vars(report)})
        return
    say_imported(report, found.source)
