"""What a handle does where a statement names an object of a module that the file has not taken in.

A statement that writes takes the module in, within its own transaction. One that looks sees the module as one that holds
nothing: for as long as it runs, the module's views are temporary ones, over tables of a fresh file in memory. The file is
not changed by that, and may be open for reading only. Within a transaction they are taken in and rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from typing import TypeVar

import apsw

from engine.errors import NeedsModule
from engine.schema.build import Build, installed
from engine.schema.install import install
from engine.schema.modules import present
from engine.schema.objects import quoted

Result = TypeVar("Result")

_UNKNOWN = re.compile(r"no such table: (?:main\.)?(\w+)")
_MAY_LOOK = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:select|values|explain|with)\b", re.IGNORECASE | re.DOTALL)
_BLANK = "engine_blank"


def missing_in(connection: apsw.Connection, error: BaseException) -> str | None:
    """The module that the file would need for a statement that failed with this error; None for any other error."""
    if isinstance(error, NeedsModule):
        return error.module
    found = _UNKNOWN.search(str(error)) if isinstance(error, apsw.SQLError) else None
    module = installed().owners.get(found[1].lower()) if found else None
    return None if module is None or module in present(connection) else module


def run_with(connection: apsw.Connection, sql: str, run: Callable[[], Result], failed: BaseException) -> Result:
    """What `run` gives, which runs `sql` and has failed with an error, once the modules that it names are there.

    Raises that error if it is about something else.
    """
    if _MAY_LOOK.match(sql) is None:
        return write_with(connection, run, failed)
    try:
        return look_with(connection, run, failed)
    except apsw.ReadOnlyError:
        # a statement that begins with `with` may write
        if connection.readonly("main"):
            raise
        return write_with(connection, run, failed)


def look_with(connection: apsw.Connection, run: Callable[[], Result], failed: BaseException) -> Result:
    """What `run` gives, which looks, while the modules that it names are there as such that hold nothing.

    Raises `apsw.ReadOnlyError`, and changes nothing, if `run` writes.
    """
    return _retried(connection, run, failed, lambda modules: shown(connection, modules))


def write_with(connection: apsw.Connection, run: Callable[[], Result], failed: BaseException) -> Result:
    """What `run` gives, which writes, after the file has taken in the modules that it names, in one transaction."""

    @contextmanager
    def taken_in(modules: list[str]) -> Iterator[None]:
        with _writing(connection):
            install(connection, modules)
            yield

    return _retried(connection, run, failed, taken_in)


def _retried(
    connection: apsw.Connection,
    run: Callable[[], Result],
    failed: BaseException,
    having: Callable[[list[str]], AbstractContextManager[None]],
) -> Result:
    modules: list[str] = []
    while (module := missing_in(connection, failed)) is not None and module not in modules:
        modules.append(module)
        try:
            with having(modules):
                return run()
        except (apsw.SQLError, NeedsModule) as error:
            failed = error
    raise failed


@contextmanager
def _writing(connection: apsw.Connection) -> Iterator[None]:
    """A part of the transaction that is open, or one of its own; an error rolls it back."""
    if connection.in_transaction:
        with connection:
            yield
        return
    connection.execute("begin immediate").fetchall()
    try:
        yield
        connection.execute("commit").fetchall()
    finally:
        if connection.in_transaction:
            connection.execute("rollback").fetchall()


@contextmanager
def shown(connection: apsw.Connection, modules: list[str]) -> Iterator[None]:
    """While modules that the file has not are there as such that hold nothing but their seeds, and nothing is written."""
    confined = connection.execute("pragma query_only").get  # making and dropping views counts as a write
    connection.execute("pragma query_only = off").fetchall()
    try:
        with _taken_in_for_now(connection, modules) if connection.in_transaction else _beside(connection, modules):
            connection.execute("pragma query_only = on").fetchall()
            try:
                yield
            finally:
                connection.execute("pragma query_only = off").fetchall()
    finally:
        if confined:
            connection.execute("pragma query_only = on").fetchall()


@contextmanager
def _taken_in_for_now(connection: apsw.Connection, modules: list[str]) -> Iterator[None]:
    """While modules are in the file: a part of its transaction that is rolled back. Nothing is attached within one."""
    connection.execute("savepoint looking").fetchall()
    try:
        install(connection, modules)
        yield
    finally:
        if connection.in_transaction:  # a full disk ends all of it
            connection.execute("rollback to looking").fetchall()
            connection.execute("release looking").fetchall()


@contextmanager
def _beside(connection: apsw.Connection, modules: list[str]) -> Iterator[None]:
    """While modules are temporary views over the tables of a fresh file in memory."""
    there = present(connection)
    wanted = installed().having({*there, *modules})
    views = _views_of(wanted, {module.name for module in wanted.modules} - there)
    connection.execute(f"attach ':memory:' as {_BLANK}").fetchall()
    try:
        connection.deserialize(_BLANK, _tables_of(wanted))
        for name, text in views.items():
            connection.execute(f"create temp view {quoted(name)} {text}").fetchall()
        yield
    finally:
        for name in views:
            connection.execute(f"drop view if exists temp.{quoted(name)}").fetchall()
        connection.execute(f"detach {_BLANK}").fetchall()


@cache
def _tables_of(build: Build) -> bytes:
    """The tables of a fresh file. Its views would be found if the file has none of their names, and would read tables that
    hold nothing.
    """
    with closing(apsw.Connection(":memory:")) as connection:
        build.fresh.copy_to(connection)
        connection.execute("pragma writable_schema = on").fetchall()
        connection.execute("delete from sqlite_schema where type in ('view', 'trigger')").fetchall()
        connection.execute("pragma writable_schema = reset").fetchall()
        connection.execute("vacuum").fetchall()
        return connection.serialize("main")


def _views_of(build: Build, modules: set[str]) -> dict[str, str]:
    """The views of modules: the names, and the texts behind them."""
    return {
        found.name: found.sql.partition(found.name)[2]
        for found in build.fresh.objects
        if found.type == "view" and build.owners.get(found.name.lower()) in modules
    }
