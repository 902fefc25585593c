"""Registers the engine's functions on a connection, apsw's or the standard library's.

On an apsw connection every function is marked innocuous, so that triggers and views may call it with `trusted_schema` off.
The standard library cannot mark functions, so there `trusted_schema` stays on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import apsw

from engine import plugins
from engine.errors import NeedsModule, error_for
from engine.functions import Function
from engine.functions.catalogue import own_functions
from engine.schema.late_calls import LateCalls

if TYPE_CHECKING:
    import sqlite3

_LONGEST_MESSAGE = 10_000
Clock = Callable[[], int]
"""Returns the Unix time in milliseconds; tests pass their own."""


def system_clock() -> int:
    """The Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


@cache
def pure_functions() -> tuple[Function, ...]:
    """All pure functions of the engine, and of the plugins."""
    own = own_functions()
    if projections := plugins.projections():
        from engine.schema.projecting import projecting

        own = projecting(own, projections)
    return (*own, *plugins.functions())


class _LastError:
    """Keeps the last error of `fail` and of late calls: the standard library does not pass on the text of an error that a
    function raises.
    """

    text: str | None = None

    def fail(self, status: int, message: str) -> None:
        """Raise the engine error for `status`, 500 where it is none; SQLite then rolls back the statement that called it."""
        said = str(message)
        if len(said) > _LONGEST_MESSAGE:  # it repeats what was given
            said = f"{said[: _LONGEST_MESSAGE // 2]}… ({len(said)} characters)"
        error = error_for(int(status) if 400 <= int(status) < 600 else 500, said)
        self.text = str(error)
        raise error

    def noting(self, call: Callable[..., None]) -> Callable[..., None]:
        """`call`, whose errors are kept too, those of `fail` within it excepted, which are kept already."""

        def noted(*values: object) -> None:
            before, self.text = self.text, None
            try:
                call(*values)
            except Exception as error:
                self.text = self.text or str(error)
                raise
            self.text = before

        return noted

    def last_error(self) -> str | None:
        return self.text


def _holds_keys(name: str | None) -> int:
    from engine.system.key_files import holds_keys  # only a file from elsewhere is asked for that

    return int(name is not None and holds_keys(str(name)))


def _needs_module(name: object) -> None:
    """Raise the error that makes a handle of the engine take in a module."""
    raise NeedsModule(str(name))


def _denies(_: str) -> bool:
    return False


def register(
    connection: apsw.Connection | sqlite3.Connection,
    clock: Clock = system_clock,
    confirmed: Callable[[str], bool] = _denies,
    beside: Callable[[str], bool] = _denies,
) -> None:
    """Prepare `connection` to write to an engine file: functions, foreign keys and recursive triggers.

    `clock` returns the Unix time in milliseconds. `confirmed` is a function that says whether the user has confirmed a
    right in the file; default: no right is confirmed. `beside` is a function that says whether a folder is the folder
    of the file or below it. The standard library does not pass on the text of an error that a rule raised; there
    `select last_error()` returns it. A connection of its class `sqlite3.Connection`, to which no weak reference can be
    had, stays open until it is closed.
    """
    if not (isinstance(connection, apsw.Connection) or hasattr(connection, "create_function")):
        raise TypeError(f"connection is a connection of apsw or sqlite3, not {connection!r}")
    errors, late = _LastError(), LateCalls(connection)
    impure = (
        Function("fail", 2, errors.fail),
        Function("late_call", 14, errors.noting(late.call)),
        Function("needs_module", 1, errors.noting(_needs_module)),
        Function("now", 0, clock),
        Function("last_error", 0, errors.last_error),
        Function("is_confirmed", 1, lambda text: int(text is not None and confirmed(str(text)))),
        Function("holds_keys", 1, _holds_keys),
        Function("is_beside", 1, lambda folder: int(folder is not None and beside(str(folder)))),
    )
    if isinstance(connection, apsw.Connection):
        _register_apsw(connection, impure)
    else:
        _register_stdlib(connection, impure)


def _register_apsw(connection: apsw.Connection, impure: tuple[Function, ...]) -> None:
    for function in pure_functions():
        connection.create_scalar_function(
            function.name,
            function.call,
            function.arguments,
            deterministic=True,
            flags=apsw.SQLITE_INNOCUOUS,
        )
    for function in impure:
        connection.create_scalar_function(function.name, function.call, function.arguments, flags=apsw.SQLITE_INNOCUOUS)
    for pragma in ("foreign_keys = on", "recursive_triggers = on", "trusted_schema = off"):
        connection.execute(f"pragma {pragma}").fetchall()


def _register_stdlib(connection: sqlite3.Connection, impure: tuple[Function, ...]) -> None:
    for function in pure_functions():
        connection.create_function(function.name, function.arguments, function.call, deterministic=True)
    for function in impure:
        connection.create_function(function.name, function.arguments, function.call)
    for pragma in ("foreign_keys = on", "recursive_triggers = on"):
        connection.execute(f"pragma {pragma}").fetchall()
