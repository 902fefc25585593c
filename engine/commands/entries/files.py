"""`engine files`: lists the files of a project; adds, ignores and protects files by patterns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_read, open_to_write
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.terminal.printing import print_json, print_table, say

if TYPE_CHECKING:
    from engine.db.database import Row

app = typer.Typer(rich_markup_mode=None)

RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", readable=False, help="The project's folder; default: this one."),
]
Patterns = Annotated[
    list[str], typer.Argument(metavar="PATTERN...", help="Paths, folders or patterns inside the working folder.")
]


@app.callback(invoke_without_command=True)
def files(context: typer.Context, root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List or choose the files that a run can see.

    In a git repository, a run sees all files except those ignored by git. In other folders, a run sees all files
    except hidden files. 'add' includes more files, 'ignore' excludes files, and 'readonly' protects files from
    changes.

    \b
    Examples:
      engine files
      engine files add 'build/*.log'
      engine files readonly contracts
      engine files ignore '**/*.min.js'
      engine files rm '**/*.min.js'
    """
    if is_alone(context, root, as_json, db):
        list_(root, as_json=as_json, db=db)


@app.command("list")
def list_(root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the files that a run can see, and the rules for them.

    \b
    Examples:
      engine files list
      engine files list --json
    """
    place, patterns, database, untracked = _known(root, db)
    listed = _listed(place, patterns, database, untracked)
    if as_json:
        print_json({"root": str(place), "constraints": patterns, "files": listed})
        return
    print_table(listed, ("bytes", "constraint", "path"), f"no files in {str(place)!r}")
    if patterns:
        say("\n" + "\n".join(f"{row['rule']:8}  {row['pattern']}" for row in patterns))


@app.command()
def add(patterns: Patterns, root: RootOption = None, db: DbOption = None) -> None:
    """Let runs see files that are ignored by git or hidden.

    A pattern never includes files that may hold keys, such as .env, *.pem or id_rsa. To include such a file, give its
    exact path.

    \b
    Example:
      engine files add notes.private.md 'logs/**'
    """
    _constrain(patterns, "add", root, db)


@app.command()
def readonly(patterns: Patterns, root: RootOption = None, db: DbOption = None) -> None:
    """Protect files from changes.

    Runs cannot change or remove these files, even if you accept a proposal to do so.

    \b
    Example:
      engine files readonly LICENSE 'contracts/**'
    """
    _constrain(patterns, "readonly", root, db)


@app.command()
def ignore(patterns: Patterns, root: RootOption = None, db: DbOption = None) -> None:
    """Hide files from runs.

    \b
    Example:
      engine files ignore 'data/**'
    """
    _constrain(patterns, "ignore", root, db)


@app.command()
def rm(patterns: Patterns, root: RootOption = None, db: DbOption = None) -> None:
    """Remove rules that add, readonly or ignore made. The files are not changed.

    \b
    Example:
      engine files rm 'data/**'
    """
    from engine.project.constraints import checked_patterns, release
    from engine.system.locate import database_to_read

    place = _root(root)
    with open_to_write(database_to_read(db, Path.cwd())) as database:
        release(database, place, checked_patterns(place, patterns, root))
    say(f"removed: {', '.join(patterns)}")


def _constrain(patterns: Sequence[str], rule: str, root: Path | None, db: Path | None) -> None:
    from engine.project.constraints import checked_patterns, constrain

    place = _root(root)
    checked = checked_patterns(place, patterns, root)
    with open_to_write(db) as database:
        constrain(database, place, checked, rule)
    say(f"{rule}: {', '.join(checked)}")


def _root(given: Path | None) -> Path:
    from engine.project.workspace import Workspace

    return Workspace(given or Path.cwd()).root


def _known(root: Path | None, db: Path | None) -> tuple[Path, list[Row], Path | None, bool]:
    """The folder, the patterns stored for it, the database with them, and whether untracked files are members.

    There are no patterns, and None for the database, where there is none.
    """
    from engine.system.locate import find_database

    place = _root(root)
    if db is None and find_database(Path.cwd()) is None:
        return place, [], None, True
    with open_to_read(db) as database:
        patterns = database.rows(
            "select k.pattern, k.rule from file_constraints as k join projects as p on p.id = k.project_id "
            "where p.root = ? order by k.rule, k.pattern",
            (str(place),),
        )
        untracked = database.value("select value from settings where name = 'untracked_files'") != "0"
        return place, patterns, database.place, untracked


def _listed(root: Path, patterns: list[Row], database: Path | None, untracked: bool) -> list[Row]:
    from engine.functions.patterns.kinds import pattern_match
    from engine.project.workspace import Workspace

    members = Workspace(root, database).members(
        added=[row["pattern"] for row in patterns if row["rule"] != "ignore"],
        ignored=[row["pattern"] for row in patterns if row["rule"] == "ignore"],
        limit=1_000_000,
        untracked=untracked,
    )
    return [
        {
            "path": member.path,
            "bytes": member.size,
            "constraint": next(
                (r["rule"] for r in reversed(patterns) if pattern_match(r["pattern"], member.path)), None
            ),
        }
        for member in members
    ]
