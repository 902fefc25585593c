"""Checks what callers of the Python API pass, so that a wrong type is told where it comes in and not by another library.

spec: @wrong_arguments
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Is = Callable[[object], bool]

_KINDS: dict[str, _Is] = {
    "a text": lambda value: isinstance(value, str),
    "a path": lambda value: isinstance(value, str | os.PathLike),
    "a whole number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "a number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "True or False": lambda value: isinstance(value, bool),
    "a function": callable,
    "a list of models": lambda value: isinstance(value, list | tuple),
    "a model, or a list of at least one": bool,
    "a dict, or a text with its JSON": lambda value: isinstance(value, Mapping | str),
    "a text, or an object with a method complete()": lambda value: (
        isinstance(value, str) or callable(getattr(value, "complete", None))
    ),
}


def check(what: str, value: object, kind: str) -> None:
    """Raise `TypeError` where `value`, which `what` names, is not of `kind`: a key of the kinds, or that ` or None`."""
    base = kind.removesuffix(" or None")
    if value is None and base != kind:
        return
    if not _KINDS[base](value):
        raise TypeError(f"{what} must be {kind}, not {_shown(value)}")


def check_all(values: Mapping[str, object], kinds: Mapping[str, str]) -> None:
    """Check the values that `kinds` has by name; raises `TypeError`."""
    for name, kind in kinds.items():
        if name in values:
            check(name, values[name], kind)


def expects(**kinds: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function check its arguments; raises `TypeError` for one of another kind."""

    def decorated(function: Callable[_P, _R]) -> Callable[_P, _R]:
        names = list(inspect.signature(function).parameters)

        @wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            check_all(dict(zip(names, args, strict=False)) | kwargs, kinds)
            return function(*args, **kwargs)

        return checked

    return decorated


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
