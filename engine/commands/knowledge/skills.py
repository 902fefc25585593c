"""`engine skills`: the skills that models are told of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_skill
from engine.cli.databases import database_or_fresh, open_existing, open_to_write, writable_or_fresh
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.functions.counts import counted
from engine.terminal.hints import nearest
from engine.terminal.printing import one_line, print_json, print_table, print_text, say, visible

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row
    from engine.skills.sources import SkillText

app = typer.Typer(rich_markup_mode=None)

RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", readable=False, help="The project's folder; default: this one."),
]
Everywhere = Annotated[bool, typer.Option("--everywhere", help="Use the skills in all projects of the database.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a skill.", autocompletion=complete_skill)]


@app.callback(invoke_without_command=True)
def skills(context: typer.Context, root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List, add, remove, show and search skills, the instructions for special tasks.

    The model reads the names and descriptions of skills, and loads the text of a skill if it needs it. When a run
    begins, it finds the skills in the project's usual folders (.agents/skills, .claude/skills, …).

    \b
    Examples:
      engine skills
      engine skills add ~/skills/release
      engine skills add https://example.org/skills/review.zip
      engine skills show release
      engine skills search "sign a release"
      engine skills rm release
    """
    if is_alone(context, root, as_json, db):
        list_(root, as_json=as_json, db=db)


@app.command("list")
def list_(root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the skills of this folder's project and of all projects.

    \b
    Examples:
      engine skills list
      engine skills list --json
    """
    with database_or_fresh(db) as database:
        rows = _of_project(database, root)
    if as_json:
        print_json(rows)
        return
    shown = [{**row, "description": row["problem"] or row["description"]} for row in rows]
    print_table(
        shown,
        ("name", "origin", "files", "chars", "left_out", "description"),
        "no skills; add one with 'engine skills add SOURCE'. Skills in the project's folders are found when a run begins",
    )


@app.command()
def add(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Where the skills are: folders, Markdown, JSON or YAML files, zip files, or URLs.",
        ),
    ] = None,
    home: Annotated[
        bool, typer.Option("--home", help="Add the skills in your home folder, such as ~/.claude/skills.")
    ] = False,
    found: Annotated[bool, typer.Option("--found", help="Add the skills in this project's usual folders now.")] = False,
    everywhere: Everywhere = False,
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Add skills, or replace skills of the same name. If a skill has a mistake, no skill is added.

    Skills are copied into the database. If you change a skill, add it again. Adding a skill executes none of its
    files. Links in a folder are not followed, and only text files are added.

    \b
    Examples:
      engine skills add ~/skills/release
      engine skills add notes/review.md researcher.jsonc pack.zip --everywhere
      engine skills add https://github.com/someone/skills/blob/main/release/SKILL.md
      engine skills add --home
    """
    from engine.skills import changing as store
    from engine.system.user import user_name

    if not (sources or home or found):
        raise typer.BadParameter("give a SOURCE, --home or --found", param_hint="SOURCE")
    with open_to_write(db) as database:
        read = [each for source in sources or () for each in store.read(database, source)]
        own = [each for folder in store.home_folders() for each in _readable(database, folder)] if home else []
        scope = store.GLOBAL if everywhere else f"project:{store.project_of(database, _root(root))}"
        if found:
            store.find(database, _root(root))
        added = store.add(database, [*own, *read], scope=scope, by=user_name())
        rows = [row for row in _of_project(database, root) if found or row["name"] in {each.name for each in added}]
    others = {each.name: list(each.others) for each in added}
    if as_json:
        print_json([{**row, "not_taken": others.get(row["name"], [])} for row in rows])
        return
    for row in rows:
        left = f", {row['left_out']} left out" if row["left_out"] else ""
        what = row["problem"] or row["description"]
        size = f"{counted(row['files'], 'file')}, {counted(row['chars'], 'character')}{left}"
        say(f"skill {visible(row['name'])}: {size}: {one_line(what, 80)}")
    if not rows:
        say("no skills found")
    for name, skills in _by_name(others).items():
        which: str = skills[0] if len(skills) == 1 else str(counted(len(skills), "skill"))
        say(f"not taken: {one_line(name, 60)} of {visible(which)}", "yellow")


def _by_name(others: dict[str, list[str]]) -> dict[str, list[str]]:
    """The skills that say each of these things which bind nothing here."""
    found: dict[str, list[str]] = {}
    for skill, names in others.items():
        for name in names:
            found.setdefault(name, []).append(skill)
    return found


@app.command()
def rm(name: Name, everywhere: Everywhere = False, root: RootOption = None, db: DbOption = None) -> None:
    """Remove a skill that was added. Packets that were sent keep its text.

    \b
    Example:
      engine skills rm release
    """
    from engine.skills import changing as store

    with open_existing(db) as database:
        gone = store.remove(database, name, [store.GLOBAL] if everywhere else _scopes(database, root))
    say(f"removed: skill {visible(gone['name'])}, from {one_line(gone['source'], 80)}")


@app.command()
def show(
    name: Name,
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A file of the skill.")] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print the text that the model gets for a skill, or a file of the skill.

    \b
    Examples:
      engine skills show release
      engine skills show release references/signing.md
    """
    from engine.errors import NotFound

    with database_or_fresh(db) as database:
        rows = _of_project(database, root)
        row = next((each for each in rows if each["name"] == name), None)
        if row is None:
            asked = nearest(name, (each["name"] for each in rows), "'engine skills list' lists them")
            raise NotFound(f"skill {name!r}: not found; {asked}")
        if row["problem"]:
            raise NotFound(f"skill {name!r}: cannot be used, because {row['problem']}; its source is {row['source']!r}")
        text = database.value(
            "select c.body from _skill_entries as f join contents as c on c.id = f.content_id "
            "where f.skill_id = ? and f.path = ?",
            (row["id"], file or ""),
        )
    if text is None:
        raise NotFound(f"skill {name!r}: has no file {file!r}; the text of the skill lists its files")
    if as_json:
        print_json({**row, "file": file, "text": text})
        return
    print_text(text)


@app.command()
def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="The words to search for.")],
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Search the names, descriptions and texts of skills. The best hit comes first. If the extra 'meaning' is
    installed, the search also compares meanings. It stores an index in the database.

    \b
    Examples:
      engine skills search "sign a release"
      engine skills search migrations --json
    """
    from engine.discovery.embedders import embedder, missing
    from engine.skills import changing as store

    if not words.strip():
        raise typer.BadParameter("the text is empty; say what the skill should do")
    with writable_or_fresh(db) as database:
        rows, failure = store.search(database, words, _scopes(database, root))
    if failure or embedder() is None:
        say(f"compared words only, not meanings; {one_line(failure or missing(), 300)}")
    if as_json:
        print_json(rows)
        return
    print_table(rows, ("name", "description"), "no skill is about that; 'engine skills list' lists all")


def _root(given: Path | None) -> Path:
    from engine.project.workspace import Workspace

    return Workspace(given or Path.cwd()).root


def _scopes(database: Database, root: Path | None) -> list[str]:
    """The scopes whose skills the runs of a folder have, the nearest first."""
    project = database.value("select id from projects where root = ?", (str(_root(root)),))
    return [*([f"project:{project}"] if project else []), "global"]


def _of_project(database: Database, root: Path | None) -> list[Row]:
    """The skills of a folder's project and of all projects, each with its id and without its scope."""
    return database.rows(
        "select o.id, s.* from json_each(?) as w join _skills as o on o.scope = w.value "
        "left join projects as p on o.scope = 'project:' || p.id "
        "join skills as s on s.name = o.name and s.project is p.name order by s.name, w.key",
        (json.dumps(_scopes(database, root)),),
    )


def _readable(database: Database, folder: Path) -> list[SkillText]:
    """The skills in a folder of the home, without those that have a problem; none where it holds none."""
    from engine.errors import NotFound
    from engine.skills import changing as store

    try:
        found = store.read(database, str(folder))
    except NotFound:
        return []
    for each in found:
        if each.problem:
            say(f"engine: {visible(each.source)}: {each.problem}; left out", "yellow")
    return [each for each in found if not each.problem]
