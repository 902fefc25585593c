"""`engine shell`: runs read-only SQL statements that a person types."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption
from engine.system.places import home_folder, make_private
from engine.terminal.answers import print_answer
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import print_text, say, visible

from .sql import LIMIT

if TYPE_CHECKING:
    from engine.api.database import Database

_HELP = """.tables         views, tables, and doors, which take rows
.schema [NAME]  how one, or each, was created, with what it promises
.quit           leave
Anything else is SQL, up to a semicolon; only reading is allowed."""


def shell(db: DbOption = None) -> None:
    """Type SQL statements and see their rows. The statements cannot write.

    \b
    Examples:
      engine shell
      echo '.tables' | engine shell
    """
    with open_to_read(db) as database, _history():
        interactive = sys.stdin.isatty()
        if interactive:
            say(f"{database.path}: SQL up to a semicolon, .help for more", dim=True)
        failures = [text for text in _statements(interactive) if not _perform(database, text)]
    if failures and not interactive:
        raise typer.Exit(FAILED)


def _statements(interactive: bool) -> Iterator[str]:
    """Dot commands and whole statements from stdin, until its end or .quit."""
    import apsw

    lines: list[str] = []
    while True:
        try:
            line = input(("   ...> " if lines else "engine> ") if interactive else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            say("")
            lines = []
            continue
        if not lines and line.strip() in {".quit", ".exit"}:
            return
        lines.append(line)
        text = "\n".join(lines).strip()
        if not text or text.startswith(".") or apsw.complete(text):
            lines = []
            if text:
                yield text
    if text := "\n".join(lines).strip():
        yield text


def _perform(db: Database, text: str) -> bool:
    """Run a dot command or a statement; False, with the error on stderr, where it failed."""
    from engine.db.query import answer
    from engine.errors import EngineError

    try:
        if text.startswith("."):
            _dot_command(db, text)
            return True
        found = answer(db, text, limit=LIMIT)
        print_answer(found)
        if found.cut:
            say(f"the first {LIMIT:,} rows")
    except EngineError as error:
        say(visible(error.message), "red")
        return False
    return True


def _dot_command(db: Database, text: str) -> None:
    from engine.errors import ValidationError

    name, _, argument = text.partition(" ")
    if name == ".tables":
        rows = db.rows(
            "select group_concat(name, '  ') as names, kind from (select s.name, case when exists (select 1 from "
            "sqlite_schema as t where t.type = 'trigger' and t.tbl_name = s.name and s.type = 'view') "
            "then 'doors' else s.type || 's' end as kind from sqlite_schema as s where s.type in ('table', 'view') "
            "and s.name not glob 'sqlite_*' and s.name not glob '_*' order by s.name) group by kind order by kind desc"
        )
        print_text("\n\n".join(f"{row['kind']}\n{row['names']}" for row in rows))
    elif name == ".schema":
        rows = db.rows(
            "select sql from sqlite_schema where sql is not null "
            "and (:name = '' or :name in (name, tbl_name)) order by rowid",
            {"name": argument.strip()},
        )
        if not rows:
            raise ValidationError(f"{argument.strip()!r}: there is no such table or view; see .tables")
        print_text("\n".join(f"{row['sql']};" for row in rows))
    elif name == ".help":
        print_text(_HELP)
    else:
        raise ValidationError(f"{name}: no such command; see .help")


@contextmanager
def _history() -> Iterator[None]:
    """Switch on line editing, with a history in the user's state folder, at a terminal with readline."""
    if not sys.stdin.isatty():
        yield
        return
    try:
        import readline
    except ImportError:
        yield
        return
    path = Path(os.environ.get("XDG_STATE_HOME") or home_folder() / ".local" / "state") / "engine" / "shell_history"
    try:
        make_private(path.parent)
        path.touch(mode=0o600)
        readline.read_history_file(path)
    except OSError:
        yield  # no history where its file cannot be used
        return
    readline.set_history_length(1_000)
    try:
        yield
    finally:
        readline.write_history_file(path)
