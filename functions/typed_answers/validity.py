"""Whether a JSON Schema is one that answers can be checked against.

spec: @answer_schemas
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from engine.functions.patterns.regexes import limited

from .checker import KINDS, Fault, Schema, shown, target_of
from .values import NoValue, value_of

MOST_CHARACTERS = 100_000
_UNKNOWN = (
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
    "dependencies",
    "additionalItems",
)
"""Keywords that would have to be checked and are not: an answer that breaks them would pass."""
_ONE = ("additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COUNTS = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
)
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


@lru_cache(maxsize=64)
def schema_error(schema: str | None) -> str | None:
    """What is wrong with a JSON Schema, as the rest of a sentence that begins with its name; NULL if nothing is, or NULL."""
    if schema is None:
        return None
    if len(schema) > MOST_CHARACTERS:
        return f"has {len(schema):,} characters, but at most {MOST_CHARACTERS:,} are allowed"
    try:
        parsed = value_of(schema)
    except NoValue as error:
        return str(error)
    if not isinstance(parsed, dict):
        return 'must be a JSON Schema such as {"type": "object"}, not ' + shown(parsed)
    fault = next(_faults(parsed), None)
    return None if fault is None else f"is not a usable JSON Schema: {fault.place} {fault.said}"


def _faults(root: Schema) -> Iterator[Fault]:
    """The faults of a schema, of those inside it, and of what references lead to elsewhere in it."""
    seen: set[int] = set()
    left: list[tuple[str, Any]] = [("$", root)]
    while left:
        place, schema = left.pop()
        if isinstance(schema, bool) or id(schema) in seen:
            continue
        if not isinstance(schema, dict):
            yield Fault(place, f"must be a schema, not {shown(schema)}")
            return
        seen.add(id(schema))
        yield from _own_faults(root, schema, place)
        left += reversed([(f"{place}.{where}", inner) for where, inner in _inner(schema)])
        if "$ref" in schema:
            left.insert(0, (f"{place}.$ref", target_of(root, schema["$ref"])))


def _own_faults(root: Schema, schema: dict[str, Any], place: str) -> Iterator[Fault]:
    for name in _UNKNOWN:
        if name in schema:
            yield Fault(f"{place}.{name}", "is a keyword that is not checked; leave it out")
    for name, rule in _VALUES.items():
        if name in schema and (said := rule(schema[name])):
            yield Fault(f"{place}.{name}", said)
            return
    if "$ref" in schema:
        yield from _reference_faults(root, schema, f"{place}.$ref")


def _inner(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas inside a schema."""
    for name in _ONE:
        if name in schema:
            yield name, schema[name]
    for name in _LISTS:
        for number, each in enumerate(schema.get(name, ())):
            yield f"{name}[{number}]", each
    for name in _NAMED:
        for key, each in schema.get(name, {}).items():
            yield f"{name}.{key[:60]}", each


def _reference_faults(root: Schema, schema: dict[str, Any], place: str) -> Iterator[Fault]:
    """A reference leads to a schema inside this one, and not back to itself."""
    seen: list[int] = []
    while isinstance(schema, dict) and "$ref" in schema:
        reference = schema["$ref"]
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            yield Fault(place, f"is {shown(reference)}; schemas are not loaded: put it into $defs, as #/$defs/NAME")
            return
        seen.append(id(schema))
        try:
            schema = target_of(root, reference)
        except (LookupError, ValueError, TypeError):
            yield Fault(place, f"is {shown(reference)}, which does not exist")
            return
        if not isinstance(schema, dict | bool):
            yield Fault(place, f"is {shown(reference)}, which is not a schema")
        if id(schema) in seen:
            yield Fault(place, f"is {shown(reference)}, which refers to itself")
            return


def _type(value: Any) -> str | None:
    kinds = value if isinstance(value, list) else [value]
    unknown = next((kind for kind in kinds if not isinstance(kind, str) or kind not in KINDS), None)
    if not kinds or unknown is not None:
        return f"is one of {', '.join(sorted(KINDS))}, not {shown(unknown)}"
    return None


def _pattern(value: Any) -> str | None:
    return limited(value).error() if isinstance(value, str) else f"is a regular expression, not {shown(value)}"


def _patterns(value: Any) -> str | None:
    return _object(value) or next((said for source in value if (said := _pattern(source))), None)


def _object(value: Any) -> str | None:
    return None if isinstance(value, dict) else f"is an object, not {shown(value)}"


def _list(value: Any) -> str | None:
    return None if isinstance(value, list) and value else "is a list with something in it"


def _names(value: Any) -> str | None:
    fits = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return None if fits else f"is a list of names, not {shown(value)}"


def _needs(value: Any) -> str | None:
    return _object(value) or next((said for each in value.values() if (said := _names(each))), None)


def _count(value: Any) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return None if fits else f"is a whole number from 0 on, not {shown(value)}"


def _number(value: Any) -> str | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return None if fits else f"is a number, not {shown(value)}"


def _step(value: Any) -> str | None:
    return _number(value) or (None if value > 0 else "is more than 0")


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"is true or false, not {shown(value)}"


_VALUES: dict[str, Callable[[Any], str | None]] = {
    "type": _type,
    "enum": _list,
    "required": _names,
    "dependentRequired": _needs,
    "pattern": _pattern,
    **dict.fromkeys(_NUMBERS, _number),
    "multipleOf": _step,
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_NAMED, _object),
    "patternProperties": _patterns,
    **dict.fromkeys(_LISTS, _list),
    "uniqueItems": _flag,
    "format": lambda value: None if isinstance(value, str) else f"is a name, not {shown(value)}",
}
