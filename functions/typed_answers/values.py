"""JSON that a model wrote, as a value. Refused here is what no schema speaks of: repeated keys, NaN, halves of characters.

spec: @answer_values
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

DEEPEST = 64
"""Levels of lists and objects in an answer or a schema."""


class NoValue(ValueError):  # noqa: N818 - an outcome, not a defect
    """A text is no JSON value that can be handed on; the message says why and where."""


def value_of(text: str) -> Any:
    """The value of a JSON text. Raises `NoValue` for what is none, or no value that every reader of JSON has the same of."""
    try:
        value = json.loads(text, object_pairs_hook=_keys_once, parse_constant=_no_constant)
    except NoValue:
        raise
    except json.JSONDecodeError as error:
        raise NoValue(f"is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise NoValue(f"has more than {DEEPEST} levels") from None
    except ValueError:  # a whole number of thousands of digits
        raise NoValue("holds a number that is too long") from None
    _expect_plain(value)
    return value


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise NoValue(f"has the key {twice[:60]!r} twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise NoValue(f"holds {name}, which is no JSON")


def _expect_plain(value: Any) -> None:
    """Raise `NoValue` for more than `DEEPEST` levels, a number that is not finite, and half of a character."""
    layer: Iterable[Any] = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for each in layer:
            if isinstance(each, dict):
                inner += [*each.keys(), *each.values()]
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, float) and not math.isfinite(each):
                raise NoValue("holds a number that is too large")
            elif isinstance(each, str) and not _is_whole(each):
                raise NoValue("holds half of a character (a lone surrogate)")
        if not inner:
            return
        layer = inner
    raise NoValue(f"has more than {DEEPEST} levels")


def _is_whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: 1 is 1.0 and not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return (type(one) is type(other) and one == other) or (_is_number(one) and _is_number(other) and one == other)


def equal(one: Any, other: Any) -> bool:
    """The same as `same`, and soon done where they differ."""
    return bool(one == other) and same(one, other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def hashed(value: Any) -> Any:
    """A key by which equal values are found: the same for values that are `same`."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value), value)
    if isinstance(value, list):
        return (list, tuple(map(hashed, value)))
    if isinstance(value, dict):
        return (dict, frozenset((key, hashed(each)) for key, each in value.items()))
    # texts are hashed with a secret, numbers are not: a list could be made of numbers that all have the same hash
    return (int, str(int(value)) if value == int(value) else repr(value))
