"""`@engine.tool`: makes a function a tool, and keeps what it was told of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__engine_tool__"
"""The attribute of a function that has its `Choices`."""


class Choices(NamedTuple):
    """What `@engine.tool` was told of a function."""

    name: str | None = None
    ask: bool = False
    idempotent: bool = False
    reads: bool = False
    timeout: float | None = None


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    ask: bool = False,
    idempotent: bool = False,
    reads: bool = False,
    timeout: float | None = None,
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    ask: bool = False,
    idempotent: bool = False,
    reads: bool = False,
    timeout: float | None = None,
) -> F | Callable[[F], F]:
    """Make a function a tool for `engine.open(…, tools=[function])`; the function itself stays as it is.

    The model reads its name, type hints and docstring. `name` is another name for the tool. With `ask` each call waits
    for a decision. If the engine is killed during a call, an `idempotent` function is called again; other functions
    are called at most once. A function with `reads` may also be used in the mode ask, and its failure does not abort
    the commands after it. `timeout` is in seconds (default: the setting `process_timeout`).

    Raises `TypeError` for a parameter whose hint is missing or cannot be read from JSON, `ValueError` for a name that no
    tool can have.
    """
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0):
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
    choices = Choices(name, bool(ask), bool(idempotent), bool(reads), timeout)

    def marked(found: F) -> F:
        from .functions import Unresolved, expect_function, is_method, made  # an app without tools needs none of it

        expect_function(found)
        if not is_method(found):
            with suppress(Unresolved):  # a hint names what comes later in its module; opening a file reads it again
                made(found, choices)
        try:
            setattr(found, MARK, choices)
        except AttributeError:
            raise TypeError(f"{found!r} cannot be marked as a tool; decorate the function that it calls") from None
        return found

    return marked if function is None else marked(function)
