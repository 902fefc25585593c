"""What a type hint means for an argument: its JSON Schema, how a text is read, and how a value is made of JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from engine.functions.fences import escape_json

Schema = dict[str, Any]

_WHOLE = re.compile(r"[+-]?\d{1,4000}")
_SAID = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False, "": True}
_MOST_SHOWN = 60
_DEEPEST = 50


class WrongArgument(ValueError):  # noqa: N818 - an outcome, not a defect
    """An argument that is not what its hint asks for; the message names it and says what it should be."""


@dataclass(frozen=True)
class Kind:
    """What an argument may be.

    `read` makes the JSON value of a text between tags or in an attribute, `make` what the function gets of a JSON value.
    Both take the place of the value, such as `stops[2].name`, and raise `WrongArgument`.
    """

    words: str
    schema: Schema
    read: Callable[[str, str], object]
    make: Callable[[object, str], object]
    takes_none: bool = False
    is_text: bool = False


def shown(value: object) -> str:
    """A value as errors show it: its JSON, cut short."""
    if isinstance(value, str):
        return repr(value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}…")
    text = json.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def wrong(place: str, words: str, value: object) -> WrongArgument:
    """The error for a value that is not `words`."""
    return WrongArgument(f"{place} must be {words}, not {shown(value)}")


def json_of(text: str, place: str, words: str) -> object:
    """The value of a JSON text; raises `WrongArgument`."""
    try:
        return parsed(text)
    except ValueError:
        raise WrongArgument(f"{place} must be {words}, as JSON, not {shown(text)}") from None


def parsed(text: str) -> object:
    """The value of a JSON text of at most 50 levels; raises `ValueError`."""
    try:
        value = json.loads(text, strict=False, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    layer = [value]
    for _ in range(_DEEPEST):
        layer = [each for outer in layer for each in _inside(outer)]
        if not layer:
            return value
    raise ValueError("it is nested too deeply")


def _inside(value: object) -> Collection[object]:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number of it is too large")
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise wrong(place, "a text", value)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise WrongArgument(f"{place} holds half of a character")
    return value


def _whole(value: object, place: str) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(place, "a whole number", value)
    return value


def _number(value: object, place: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong(place, "a number", value)
    try:
        number = float(value)
    except OverflowError:
        raise WrongArgument(f"{place} must be a number; {shown(value)} is too large") from None
    if not math.isfinite(number):
        raise wrong(place, "a number", value)
    return number


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(place, "true or false", value)
    return value


def _nothing(value: object, place: str) -> None:
    if value is not None:
        raise wrong(place, "null", value)


def _read_whole(text: str, place: str) -> int:
    if not _WHOLE.fullmatch(text.strip()):
        raise wrong(place, "a whole number", text)
    return int(text)


def _read_number(text: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise wrong(place, "a number", text) from None
    return _number(int(text) if _WHOLE.fullmatch(text.strip()) else number, place)


def _read_flag(text: str, place: str) -> bool:
    said = _SAID.get(text.strip().lower())
    if said is None:
        raise wrong(place, "true or false", text)
    return said


def _read_nothing(text: str, place: str) -> None:
    if text.strip().lower() not in ("null", "none"):
        raise wrong(place, "null", text)


def _read_any(text: str, _: str) -> object:
    try:
        return parsed(text)
    except ValueError:
        return text


TEXT = Kind("a text", {"type": "string"}, _text, _text, is_text=True)
WHOLE = Kind("a whole number", {"type": "integer"}, _read_whole, _whole)
NUMBER = Kind("a number", {"type": "number"}, _read_number, _number)
FLAG = Kind("true or false", {"type": "boolean"}, _read_flag, _flag)
NOTHING = Kind("null", {"type": "null"}, _read_nothing, _nothing, takes_none=True)
ANYTHING = Kind("any value", {}, _read_any, lambda value, _: value, takes_none=True)


def choice(values: list[tuple[object, object]]) -> Kind:
    """One of some values, each as (in JSON, in Python). A server names them too, so its words open no tag and no fence."""
    names = [given for given, _ in values]
    words = f"one of {', '.join(escape_json(json.dumps(name, ensure_ascii=False)) for name in names)}"

    def make(value: object, place: str) -> object:
        for given, meant in values:
            if given == value and type(given) is type(value):
                return meant
        raise wrong(place, words, value)

    def read(text: str, place: str) -> object:
        for given in names:
            if text == given or (not isinstance(given, str) and text.strip().lower() == json.dumps(given)):
                return given
        raise wrong(place, words, text)

    kinds = {str: "string", bool: "boolean", int: "integer"}
    found = {kinds.get(type(name), "null") for name in names}
    schema: Schema = {"type": found.pop()} if len(found) == 1 else {}
    return Kind(words, schema | {"enum": names}, read, make, takes_none=None in names)


def listing(item: Kind, build: Callable[[Collection[object]], object] = list) -> Kind:
    """A list; a text that is no JSON is taken as its items, parted by commas."""
    words = f"a list, each item {item.words}"

    def make(value: object, place: str) -> object:
        if not isinstance(value, list):
            raise wrong(place, words, value)
        made = [item.make(each, f"{place}[{number}]") for number, each in enumerate(value)]
        try:
            return build(made)
        except TypeError:
            raise WrongArgument(f"{place} holds what cannot be an item") from None

    def read(text: str, place: str) -> object:
        if text.lstrip().startswith("[") or "properties" in item.schema:
            return json_of(text, place, words)
        parts = text.split(",") if text.strip() else []
        return [item.read(part.strip(), f"{place}[{number}]") for number, part in enumerate(parts)]

    return Kind(words, {"type": "array", "items": item.schema}, read, make)


def mapping(item: Kind) -> Kind:
    """An object with any keys, whose values are of one kind."""
    words = f"an object whose values are {item.words}"

    def make(value: object, place: str) -> object:
        if not isinstance(value, dict):
            raise wrong(place, words, value)
        return {_text(key, place): item.make(each, f"{place}.{key}") for key, each in value.items()}

    schema: Schema = {"type": "object", "additionalProperties": item.schema or True}
    return Kind(words, schema, lambda text, place: json_of(text, place, words), make)


def record(fields: dict[str, Kind], required: Collection[str], build: Callable[[dict[str, object]], object]) -> Kind:
    """An object with these keys."""
    words = f"an object with {', '.join(fields)}" if fields else "an object without keys"

    def make(value: object, place: str) -> object:
        if not isinstance(value, dict):
            raise wrong(place, words, value)
        if unknown := sorted(value.keys() - fields.keys()):
            raise WrongArgument(f"{place} must be {words}; it has no {shown(unknown[0])}")
        given = {key: fields[key].make(each, f"{place}.{key}") for key, each in value.items()}
        for key in required:
            if key not in given:
                if not fields[key].takes_none:
                    raise WrongArgument(f"{place}.{key} is missing: {fields[key].words}")
                given[key] = None
        try:
            return build(given)
        except Exception as error:  # whatever a class of the app raises
            raise WrongArgument(f"{place}: {str(error) or type(error).__name__}") from error

    schema: Schema = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in fields.items()},
        "required": [name for name in fields if name in required and not fields[name].takes_none],
        "additionalProperties": False,
    }
    return Kind(words, schema, lambda text, place: json_of(text, place, words), make)


def union(kinds: list[Kind]) -> Kind:
    """One of several kinds, tried in their order; of a text, those that take any text come last."""
    words = " or ".join(dict.fromkeys(kind.words for kind in kinds))

    def first(value: object, place: str, attempts: list[Callable[[Any, str], object]]) -> object:
        told: list[str] = []
        for attempt in attempts:
            try:
                return attempt(value, place)
            except WrongArgument as error:
                told.append(str(error))
        raise wrong(place, words, value) if len(kinds) > 2 else WrongArgument(told[0])

    def exact(kind: Kind) -> Callable[[Any, str], object]:
        return lambda text, place: kept(kind, kind.read(text, place), place)

    def kept(kind: Kind, value: object, place: str) -> object:
        kind.make(value, place)
        return value

    readers = [exact(kind) for kind in sorted(kinds, key=lambda kind: kind.is_text)]
    makers = [kind.make for kind in kinds]
    return Kind(
        words,
        {"anyOf": [kind.schema for kind in kinds]},
        lambda text, place: first(text, place, readers),
        lambda value, place: first(value, place, makers),
        takes_none=any(kind.takes_none for kind in kinds),
        is_text=any(kind.is_text for kind in kinds),
    )
