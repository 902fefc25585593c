"""Shared by the commands: options, opening the database, finding the run.

spec: @run_left_out
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .completing import complete_effort, complete_key_source, complete_run
from .hiding import hide_paths, is_on

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.mcp.servers import Server

_TRIES = 3

DbOption = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="PATH",
        readable=False,
        help="The database; default: .engine/engine.db of this folder or the nearest above it.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
KeepOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--keep-output",
        metavar="FILE",
        readable=False,
        help="Append the output of shell commands to this file, outside of the folder.",
    ),
]
WaitOption = Annotated[
    bool,
    typer.Option("--wait/--no-wait", help="Wait for background commands that were kept, or stop them."),
]
KeyFromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--key-from",
        metavar="PROVIDER=SOURCE",
        help="Where to read that provider's key: env:VARIABLE, file:PATH, .env, project or user.",
        autocompletion=complete_key_source,
    ),
]
DemoOption = Annotated[
    bool,
    typer.Option("--demo", help="Hide parts of paths and the names in the setting demo_names."),
]
EffortOption = Annotated[
    str | None,
    typer.Option(
        "--effort",
        metavar="LEVEL",
        help="How hard the model thinks: none, minimal, low, medium, high, xhigh or max. The run keeps it.",
        autocompletion=complete_effort,
    ),
]
RunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", help="The run; default: the latest.", autocompletion=complete_run)
]


RunFilter = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Only this run; default: all.", autocompletion=complete_run)
]


def open_to_read(given: Path | None) -> Database:
    """The existing database, open for reading; where it differs from this build, a line on stderr says so.

    Raises `NotFound` (404) where there is none, and what `look_at` raises.
    """
    from engine.system.locate import database_to_read

    from .printing import say, visible

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

    from .printing import say, visible

    here = start or Path.cwd()
    path = database_to_write(given, here)
    if given is None:
        for reason in passed_over(here):
            say(f"engine: {visible(reason)}; --db names a file to use", "yellow")
    try:
        database = _open_known(path, mcp)
    except ValidationError as error:
        raise Conflict(error.message) from error
    _with_hidden_paths(database).keep_if_used()
    if waiting := [str(row["name"]) for row in database.rows("select name from unconfirmed_settings")]:
        say(f"engine.toml: not counted until 'engine config --confirm': {visible(', '.join(waiting))}", "yellow")
    return database


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
        from .trust import agrees

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
            raise ValidationError(f"--key-from is PROVIDER=SOURCE; a provider is one of {', '.join(holders())}")
        check_source(source)
        named[provider] = source
    db.keys = Keys(files=True, named=named)


def open_existing(given: Path | None) -> Database:
    """The existing database: a command about a run does not create one."""
    from engine.system.locate import database_to_read

    return open_to_write(database_to_read(given, Path.cwd()))


# A run that was delegated to is named.
_LATEST = "select alias from runs where archived_at is null order by role <> 'main', updated_at desc, id desc limit 1"
# The run of that name, else all whose names begin so.
_NAMED = """
    select alias
    from runs
    where alias = :run
        or (substr(alias, 1, length(:run)) = :run and not exists (select 1 from runs where alias = :run))
    order by updated_at desc, id desc
    limit 6
"""


def run_or_latest(db: Database, run: str | None, fitting: str | None = None) -> str:
    """The run named `run`, or the only one whose name begins so; for None the first that the query `fitting` has, else the
    latest.

    Raises `NotFound` (404) for no such run, and `ValidationError` (400) for a beginning that several names have.
    """
    from engine.errors import NotFound, ValidationError

    if run is None:
        latest = (fitting and db.value(fitting)) or db.value(_LATEST)
        if latest is None:
            raise NotFound("there is no run yet; 'engine run PROMPT' starts one")
        return str(latest)
    named = [str(alias) for (alias,) in db.tuples(_NAMED, {"run": run})] if run else []
    if len(named) > 1:
        more = ", …" if len(named) > 5 else ""
        raise ValidationError(f"run {run!r}: several runs begin so: {', '.join(named[:5])}{more}")
    found = named[0] if named else None
    if found is None:
        names = [str(row["alias"]) for row in db.rows("select alias from runs order by updated_at desc limit 1000")]
        hint = nearest(run or "", names, "'engine runs' lists them")
        raise NotFound(f"run {run!r}: there is no such run; {hint}")
    return str(found)


def status_words(db: Database) -> dict[int, str]:
    """The word for each status, as people read it."""
    return dict(db.tuples("select code, name from statuses"))


def result_word(words: Mapping[int, str], status: int, outcome: str | None) -> str:
    """What came of a command in a word, such as `exit 2`, `not found` or `interrupted`; '' if it was done."""
    outcome = outcome or ""
    if outcome.startswith("exit:"):
        return outcome.replace(":", " ")
    if outcome == "interrupted":
        return outcome
    return words.get(status, str(status)) if status == _WAITS or status >= _FAILS else ""


_WAITS, _FAILS = 202, 400


def fork_point(fork: str) -> tuple[str, int | None]:
    """`RUN` or `RUN@N` as (run, turn)."""
    run, mark, turn = fork.rpartition("@")
    if not mark:
        return fork, None
    if not run or not turn.isdecimal():
        raise typer.BadParameter(f"{fork!r} is not RUN or RUN@TURN")
    return run, int(turn)


def absolute_model(name: str) -> str:
    """A model's name, with an absolute path to its script, recording or weights, so that it is valid in any folder.

    Raises `NotFound` (404) where that file is missing.
    """
    from engine.errors import NotFound

    form, _, rest = name.partition(":")
    if form == "gguf":
        from engine.models.gguf import split_name

        weights, window = split_name(name)
        return f"gguf:{weights.expanduser().absolute()}" + (f"#{window}" if window else "")
    if form not in {"scripted", "replay"}:
        return name
    path, mark, run = rest.rpartition("#") if form == "replay" else (rest, "", "")
    if not Path(path).is_file():
        raise NotFound(f"model {name!r}: there is no file {path!r}")
    return f"{form}:{Path(path).absolute()}{mark}{run}"


def db_flag(given: Path | None) -> str:
    """` --db PATH` for a command line that is shown to a person; empty for the default database."""
    import shlex

    return "" if given is None else f" --db {shlex.quote(str(given))}"


def is_alone(context: typer.Context, *options: object) -> bool:
    """Whether a group of commands was called without one of them, so that it lists; `options` are those given to it."""
    if context.invoked_subcommand and any(options):
        group = f"engine {context.info_name} {context.invoked_subcommand}"
        raise typer.BadParameter(f"options go behind the subcommand: {group} …")
    return not context.invoked_subcommand


def nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """A question for the nearest of `names`; `otherwise` where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    return f"did you mean {near[0]}?" if near else otherwise


def stored_path(given: str | None) -> str | None:
    """A path that a person gave, with letters or with escapes for them, as it is stored.

    Raises `UnicodeEncodeError` for what is no text of Unicode: it would be the path of something else.
    """
    from engine.functions.paths import path_normalize

    if given is not None:
        given.encode()
    return path_normalize(given)
