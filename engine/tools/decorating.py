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

    Its name, type hints and docstring are what the model is told. `name` is another name. With `ask` each call waits for a
    decision. An `idempotent` function is called again where the engine was killed while it worked; any other is called at
    most once. One that only `reads` is open in the mode ask too, and its failure aborts nothing behind it. `timeout` is in
    seconds (default: the setting `process_timeout`).

    Raises `TypeError` for a parameter whose hint is missing or cannot be read from JSON, `ValueError` for a name that no
    tool can have.
    """
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0):
        raise ValueError(f"timeout is a number of seconds above 0, not {timeout!r}")
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
