"""Opens the database that a command line means."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.display.demo_mode import hide_paths, is_on

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.mcp.servers import Server

_TRIES = 3


def open_to_read(given: Path | None) -> Database:
    """The existing database, open for reading; where it differs from this build, a line on stderr says so.

    Raises `NotFound` (404) where there is none, and what `look_at` raises.
    """
    from engine.system.locate import database_to_read
    from engine.terminal.printing import say, visible

    database = look_at(database_to_read(given, Path.cwd()))
    if database.differs:
        say(f"engine: {visible(str(database.path))}: {database.differs}", "yellow")
    return database


def database_or_fresh(given: Path | None, *, quietly: bool = False) -> Database:
    """The database, open for reading, or one in memory where there is none: looking creates no file."""
    import engine
    from engine.system.locate import find_database

    found = find_database(Path.cwd()) if given is None else given
    if found is None:
        return engine.open(":memory:", config=True)
    return look_at(found) if quietly else open_to_read(given)


def writable_or_fresh(given: Path | None) -> Database:
    """The database, open for writing, or one in memory where there is none."""
    import engine
    from engine.system.locate import find_database

    found = find_database(Path.cwd()) if given is None else given
    return engine.open(":memory:", config=True) if found is None else open_existing(found)


def look_at(path: Path) -> Database:
    """The database at `path`, open for reading; raises what `engine.open` raises, and `Conflict` (409) for no database."""
    import engine
    from engine.errors import Conflict, ValidationError

    try:
        return _with_hidden_paths(engine.open(path, read_only=True, config=True))
    except ValidationError as error:
        # 409, because 400 would exit as a usage error
        raise Conflict(error.message) from error


def open_to_write(given: Path | None, start: Path | None = None, mcp: Iterable[Server] = ()) -> Database:
    """The database, created with its folder where there is none; objects in it that the user trusts are allowed. It is
    looked for from the folder `start` on, by default the current one. Its runs may use the servers `mcp`.

    At a terminal a person is asked about a file that he does not know and that would act. A command that fails before it has
    changed anything leaves no new file.
    """
    from engine.errors import Conflict, ValidationError
    from engine.system.locate import database_to_write, passed_over
    from engine.terminal.printing import say, visible

    here = start or Path.cwd()
    path = database_to_write(given, here)
    if given is None:
        for reason in passed_over(here):
            say(f"engine: {visible(reason)}; choose another file with --db", "yellow")
    try:
        database = _open_known(path, mcp)
    except ValidationError as error:
        raise Conflict(error.message) from error
    _with_hidden_paths(database).keep_if_used()
    waiting = [str(row["name"]) for row in database.rows("select name from unconfirmed_settings")]
    if waiting := [*waiting, *_waiting_hooks(database)]:
        say(f"engine.toml: ignored until you run 'engine config --confirm': {visible(', '.join(waiting))}", "yellow")
    return database


def _waiting_hooks(database: Database) -> list[str]:
    from engine.config.configuration import project_folder
    from engine.config.hooks import unconfirmed_hooks

    return [f"hooks.{hook.name}" for hook in unconfirmed_hooks(project_folder(database.path))]


def open_unasked(given: Path | None, start: Path) -> Database:
    """The database as `open_to_write` gives it, without a word: raises `PermissionDenied` (403) where that asks a person."""
    from engine.api.trust import trusted
    from engine.system.locate import database_to_write

    path = database_to_write(given, start)
    return _open_in_folder(path, trusted(path) or False)


def _with_hidden_paths(database: Database) -> Database:
    """The database; in demo mode the parts of its path, and of those of its projects, are hidden."""
    if is_on():
        from contextlib import suppress

        from engine.errors import EngineError
        from engine.system.locate import FOLDER

        place = database.path.absolute()
        hide_paths([place.parent.parent if place.parent.name == FOLDER else place])
        with suppress(EngineError):  # a damaged file is told of by the command itself
            hide_paths(str(row["root"]) for row in database.rows("select root from projects where root is not null"))
    return database


def _open_known(path: Path, mcp: Iterable[Server]) -> Database:
    import engine
    from engine.api.trust import know, trusted
    from engine.trust.known_files import ForeignFile

    trust = trusted(path) or False
    try:
        return _open_in_folder(path, trust, mcp)
    except ForeignFile as error:
        from .foreign_files import agrees

        if not agrees(path, error.acts):
            raise
        know(path, trust, error.acts)
        return engine.open(path, trust=trust, config=True, mcp=mcp)


def _open_in_folder(path: Path, trust: str | bool, mcp: Iterable[Server] = ()) -> Database:
    """Open the database, with its folder, which another command that fails may remove meanwhile."""
    import engine
    from engine.errors import EngineError
    from engine.system.locate import make_folder

    for tries_left in reversed(range(_TRIES)):
        make_folder(path)
        try:
            return engine.open(path, trust=trust, config=True, mcp=mcp)
        except EngineError:
            if os.path.lexists(path.parent) or not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def use_keys(db: Database, key_from: Iterable[str] | None) -> None:
    """Let the keys of a command come from the sources that `--key-from` names; raises `ValidationError` (400)."""
    from engine.errors import ValidationError
    from engine.keys.keys import Keys, check_source
    from engine.keys.services import holders

    named = {}
    for given in key_from or ():
        provider, mark, source = given.partition("=")
        if not mark or provider not in holders():
            raise ValidationError(f"--key-from must be PROVIDER=SOURCE; the providers are {', '.join(holders())}")
        check_source(source)
        named[provider] = source
    db.keys = Keys(files=True, named=named)


def open_existing(given: Path | None) -> Database:
    """The existing database: a command about a run does not create one."""
    from engine.system.locate import database_to_read

    return open_to_write(database_to_read(given, Path.cwd()))
