"""Creates, migrates and rebuilds the schema of an engine file.

Tables migrate. Views and triggers are rebuilt whenever the files in sql/ or the objects in the file have changed. All of
this is one transaction: opening a file either succeeds or leaves it as it was. Before anything of a file runs, its objects
are compared with those of the installed build. Objects of others on the engine's tables have to be trusted.

spec: @rebuild
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from engine.errors import Conflict, PermissionDenied
from engine.schema.header import another_application, refuse_newer, refuse_older

from .build import APPLICATION_ID, VERSION, Build, columns_of, drain, installed, note_rules
from .modules import present
from .objects import Object, compare, digest, fingerprint, objects_of, quoted, rows_of

_NAMED = 4
"""An error names at most this many objects."""

Trust = bool | str
"""Whether objects of others are trusted: all (True), none (False), or those with this digest."""

Admit = Callable[[apsw.Connection], None]
"""Raises where a file must not be written."""


class Standing(NamedTuple):
    """A file's version and objects, compared with those of a build.

    `replaced` are the objects that a rebuild drops, those of other builds among them; `unknown` are the objects on the
    engine's tables that neither the engine nor an installed plugin made, `indexes` those of which nothing has to be
    trusted; `is_current` says that nothing is to be rebuilt.
    """

    version: int
    found: tuple[Object, ...]
    replaced: tuple[Object, ...]
    unknown: tuple[Object, ...]
    indexes: tuple[Object, ...]
    is_current: bool

    @property
    def digest(self) -> str:
        """The digest that `trust` has to be for the unknown objects."""
        return digest(self.unknown)


def prepare(
    connection: apsw.Connection, trust: Trust = False, build: Build | None = None, admit: Admit | None = None
) -> None:
    """Bring an open database to the version of `build`, by default the installed one, with its views and triggers.

    `admit` is asked when the rules of the file are those of `build`; what it raises leaves the file as it was. Raises
    `Conflict` (409) for a file of a newer engine, and for one that must be rebuilt while a driver holds a lease in it;
    `PermissionDenied` (403) for objects of others on the engine's tables that `trust` does not cover.
    """
    build, admit = build_of(connection, build), admit or _admit_all
    if is_fresh(connection, build):
        admit(connection)
        return
    standing = inspect(connection, build)
    if standing.is_current:
        _refuse_unknown(connection, standing.unknown, trust)
        admit(connection)
        return
    with _transaction(connection, foreign_keys=standing.version == build.version):
        # another process may have done it in between, or have taken in a module
        build = build_of(connection, build)
        standing = inspect(connection, build)
        if standing.is_current:
            _refuse_unknown(connection, standing.unknown, trust)
        elif standing.found:
            _rebuild(connection, build, standing, trust)
        else:
            connection.execute(f"pragma application_id = {APPLICATION_ID}").fetchall()
            _make(connection, build)
        admit(connection)


def build_of(connection: apsw.Connection, build: Build | None = None) -> Build:
    """`build`, by default the installed one, with the modules that a file has."""
    return (build or installed()).having(present(connection))


def _admit_all(_: apsw.Connection) -> None:
    """Let every file be written."""


def is_fresh(connection: apsw.Connection, build: Build | None = None) -> bool:
    """Whether a file has the objects of a fresh one of `build`, by default the installed one, and no others.

    Their fingerprint tells so, which is read faster than they are compared.
    """
    build = build_of(connection, build)
    return (
        connection.pragma("user_version") == build.version
        and connection.pragma("application_id") == APPLICATION_ID
        and fingerprint(rows_of(connection)) == build.fingerprint
        and _made_by(connection) == build.hash
    )


def _made_by(connection: apsw.Connection) -> str | None:
    """The hash of the build that wrote the rules of a file."""
    found = connection.execute("select value from engine_meta where key = 'sources'").get
    return None if found is None else str(found)


def inspect(connection: apsw.Connection, build: Build | None = None) -> Standing:
    """Compare the objects of an open file with those of `build`, by default the installed one; nothing of the file runs.

    Raises `Conflict` (409) for a file of another application or of a version that is too old, and for one of a newer
    engine unless it is open for reading only.
    """
    with _one_look(connection):
        return _compared(connection, build_of(connection, build))


@contextmanager
def _one_look(connection: apsw.Connection) -> Iterator[None]:
    """While a connection sees the file as it was at the first read: another process may rebuild it meanwhile."""
    with connection:
        yield


def _compared(connection: apsw.Connection, build: Build) -> Standing:
    version = int(connection.pragma("user_version"))
    if version > build.version and connection.readonly("main"):
        return Standing(version, (), (), (), (), is_current=False)
    refuse_newer(connection.filename, version, build.version)
    expected = build.expected_in(version)
    compared = compare(connection, expected, {*expected, *build.fresh.by_name, *build.owners})
    if compared.found and int(connection.pragma("application_id")) != APPLICATION_ID:
        raise another_application(connection.filename)
    refuse_older(connection.filename, version, build.oldest)
    foreign = {each.name.lower() for each in compared.foreign}
    sound = {each.name for each in compared.found} - foreign
    listed: set[tuple[str, str]] = set()
    if "engine_objects" in sound:
        listed = {(str(kind), str(name)) for kind, name in connection.execute("select type, name from engine_objects")}
    own = build.fresh.by_name
    replaced = tuple(
        each
        for each in compared.found
        if (each.is_rule and (each.name.lower() in own or (each.type, each.name) in listed))
        or (each.type == "index" and each.name.lower() in own and each in compared.foreign)
    )
    made_by = _made_by(connection) if "engine_meta" in sound else None
    return Standing(
        version,
        compared.found,
        replaced,
        unknown=tuple(each for each in compared.foreign if each not in replaced),
        indexes=compared.indexes,
        is_current=version == build.version
        and made_by == build.hash
        and not compared.absent
        and set(replaced) <= set(build.fresh.objects),
    )


def difference(standing: Standing) -> str | None:
    """How a file that is open for reading differs from this build, as a sentence; None where it does not."""
    if standing.version > VERSION:
        return (
            f"was written by a newer engine (version {standing.version}, this one knows {VERSION}); update the engine"
        )
    if standing.is_current:
        return None
    return "its rules are those of another build, or of other plugins; they stay as they are while it is only read"


def refusal(file: str | Path, unknown: Iterable[Object]) -> str:
    """The error message for untrusted objects on the engine's tables, with what to do about them."""
    names = [str(each) for each in unknown]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{file}: holds what neither this engine nor an installed plugin made: {', '.join(names[:_NAMED])}{more}; "
        "it can be looked at, and written once it is trusted: 'engine trust' shows it and asks, "
        "in Python engine.open(path, trust=True)"
    )


def _make(connection: apsw.Connection, build: Build) -> None:
    build.write_rules(connection)
    note_rules(connection, build.fresh.objects)
    connection.execute(f"pragma user_version = {build.version}").fetchall()


def _rebuild(connection: apsw.Connection, build: Build, standing: Standing, trust: Trust) -> None:
    file = connection.filename
    kept = [each for each in standing.found if each not in standing.replaced]
    kept = [each for each in kept if each.is_rule or each in standing.unknown or each in standing.indexes]
    if standing.version == build.version:
        _refuse_another_build(connection, build, [each.name for each in standing.unknown if each.type == "table"])
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        _drop(connection, standing.replaced)
        _refuse_unknown(connection, standing.unknown, trust)
        _refuse_while_driven(connection)
        if standing.version < build.version:
            _drop(connection, (each for each in kept if each.is_rule))
            _migrate(connection, build, standing.version)
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    try:
        _make(connection, build)
    except apsw.SQLError as error:
        raise _another_build(file, str(error)) from error
    _put_back(connection, kept)
    if not inspect(connection, build).is_current:
        raise _another_build(file, "its tables are not those of this build")


def _drop(connection: apsw.Connection, objects: Iterable[Object]) -> None:
    """Drop triggers, views and indexes, triggers before their views; dropping runs none of them."""
    for each in sorted(objects):
        _run_one(connection, f"drop {each.type} if exists {quoted(each.name)}")


def _migrate(connection: apsw.Connection, build: Build, version: int) -> None:
    """Run the migrations after `version`; foreign keys are off, and triggers and views were dropped before."""
    for number, text in build.steps:
        if version < number <= build.version:
            drain(connection, text)
    broken = connection.execute("pragma foreign_key_check").fetchone()
    if broken:
        raise Conflict(
            f"{connection.filename}: cannot be updated to version {build.version}, because row {broken[1]} of "
            f"{broken[0]} would refer to a missing row of {broken[2]}; the file was not changed"
        )


def _put_back(connection: apsw.Connection, kept: Iterable[Object]) -> None:
    """Create the apps' indexes, views and triggers again that were dropped with the engine's tables and views."""
    there = {each.name for each in objects_of(connection)}
    gone = [each for each in kept if each.name not in there]
    for kind in ("index", "view", "trigger"):
        for each in (each for each in gone if each.type == kind):
            try:
                _run_one(connection, each.sql)
            except (apsw.SQLError, apsw.ExecTraceAbort) as error:
                raise Conflict(
                    f"{connection.filename}: {each} does not fit the tables of this version ({error}); remove it "
                    "with any SQLite program, then open the file again"
                ) from error


def _refuse_another_build(connection: apsw.Connection, build: Build, tables: Collection[str]) -> None:
    """Refuse a file that has the version of this build, and whose tables lack columns."""
    missing = build.columns(tables) - columns_of(connection, tables)
    if not missing:
        return
    table, column = min(missing)
    if table.lower() in {own.name.lower() for own in build.migrated_tables(build.version)}:
        raise _another_build(connection.filename, f"without {table}.{column}")
    raise Conflict(
        f"{connection.filename}: its table {table} lacks the column {column} of a plugin. "
        "Nothing was changed; add the column with 'alter table … add column …', or install the old plugin"
    )


def _refuse_unknown(connection: apsw.Connection, unknown: Collection[Object], trust: Trust) -> None:
    if unknown and trust is not True and trust != digest(unknown):
        raise PermissionDenied(refusal(connection.filename, unknown))


def _refuse_while_driven(connection: apsw.Connection) -> None:
    leased = connection.execute("select 1 from sqlite_schema where name = 'leases'").fetchone()
    if leased and connection.execute("select 1 from leases where expires_at > now()").fetchone():
        raise Conflict(
            f"{connection.filename}: another version of the engine works on a run; wait until the run has ended, "
            "then open the file again"
        )


def _another_build(file: str | Path, why: str) -> Conflict:
    return Conflict(
        f"{file}: was written by another build of this version, and was not changed ({why}); "
        "start a new file, or open it with that build"
    )


@contextmanager
def _transaction(connection: apsw.Connection, *, foreign_keys: bool) -> Iterator[None]:
    """One write transaction; `foreign_keys` switches them before it begins, since SQLite cannot do so inside of it."""
    if not foreign_keys:
        connection.execute("pragma foreign_keys = off").fetchall()
    connection.execute("begin immediate").fetchall()
    try:
        yield
        connection.execute("commit").fetchall()
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback").fetchall()
        raise
    finally:
        connection.execute("pragma foreign_keys = on").fetchall()


def _run_one(connection: apsw.Connection, sql: str) -> None:
    """Run one statement; where `sql` holds several, only the first runs and an error is raised."""
    begun = 0

    def is_first(*_: object) -> bool:
        nonlocal begun
        begun += 1
        return begun == 1

    cursor = connection.cursor()
    cursor.exec_trace = is_first
    cursor.execute(sql).fetchall()
