"""Checks a value against a JSON Schema (draft 2020-12), with each fault and its place.

No reference leaves the schema, a pattern has its time, and the whole check a number of steps: neither a schema nor an
answer can hold a turn up.

spec: @answer_faults
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple
from urllib.parse import unquote

from engine.functions.patterns.regexes import limited

from .values import equal, hashed

Schema = Any
"""A JSON object, or true or false."""

MOST_FAULTS = 20
MOST_STEPS = 500_000
"""Schemas that are held against a part of an answer."""
MOST_NESTED = 300
"""Schemas inside each other; a schema that refers to itself without going into the value reaches it."""
_MOST_SHOWN = 60
_STEPS_OF_PATTERN = 10


class Fault(NamedTuple):
    """What is wrong in a value, and where: `$` is the whole, `$.items[2].price` a part of it."""

    place: str
    said: str


class TooMuch(Exception):  # noqa: N818 - an outcome, not a defect
    """A check was given up; the message says why."""


def faults_of(schema: Schema, value: Any) -> list[Fault]:
    """The faults of a value, at most 20; none where it fits. The schema is one that `schema_error` accepts."""
    check = _Check(schema)
    try:
        return [fault for fault, _ in zip(check.faults(schema, value, "$"), range(MOST_FAULTS), strict=False)]
    except TooMuch as error:
        return [Fault("$", str(error))]
    except RecursionError:
        return [Fault("$", "is nested too deeply to be checked")]


def target_of(root: Schema, reference: str) -> Schema:
    """What a reference such as `#/$defs/Line` names; raises `LookupError`."""
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        found = found[int(name)] if isinstance(found, list) else found[name]
    return found


class _Check:
    """One check; `root` is what references are looked up in."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._steps = 0
        self._depth = 0

    def faults(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        """The faults of a value, which stands at `place`."""
        if schema is True or schema == {}:
            return
        if schema is False:
            yield Fault(place, "is not allowed here")
            return
        self._count(1 + sum(len(schema[long]) for long in _LONG if long in schema))
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise TooMuch("cannot be checked: its schema refers to itself without end")
        try:
            for keyword, rule in _RULES.items():
                if keyword in schema:
                    yield from rule(self, schema, value, place)
        finally:
            self._depth -= 1

    def fits(self, schema: Schema, value: Any) -> bool:
        """Whether a value fits."""
        return next(self.faults(schema, value, "$"), None) is None

    def matches(self, source: str, name: str) -> bool:
        """Whether a pattern matches the name of a key; a schema has many patterns, an answer many keys."""
        self._count(_STEPS_OF_PATTERN)
        return _matches(source, name)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise TooMuch("takes too many steps to check; give a shorter answer")

    def ref(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        yield from self.faults(target_of(self._root, schema["$ref"]), value, place)

    def all_of(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        for each in schema["allOf"]:
            yield from self.faults(each, value, place)

    def any_of(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        kinds = [each for each in schema["anyOf"] if _of_type(each, value)]
        if any(self.fits(each, value) for each in schema["anyOf"]):
            return
        if len(kinds) == 1:  # the one that was meant says more
            yield from self.faults(kinds[0], value, place)
        else:
            yield Fault(place, f"fits none of the {len(schema['anyOf'])} allowed forms: {shown(value)}")

    def one_of(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        fitting = sum(self.fits(each, value) for each in schema["oneOf"])
        if fitting == 0:
            yield from self.any_of({"anyOf": schema["oneOf"]}, value, place)
        elif fitting > 1:
            yield Fault(place, f"must fit one of the allowed forms, but fits {fitting}: {shown(value)}")

    def negated(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if self.fits(schema["not"], value):
            yield Fault(place, f"has a forbidden form: {shown(value)}")

    def condition(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        branch = "then" if self.fits(schema["if"], value) else "else"
        yield from self.faults(schema.get(branch, True), value, place)

    def properties(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, dict):
            for name, inner in schema["properties"].items():
                if name in value:
                    yield from self.faults(inner, value[name], _inside(place, name))

    def required(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, dict):
            for name in schema["required"]:
                if name not in value:
                    yield Fault(_inside(place, name), "is missing")

    def pattern_properties(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, dict):
            for source, inner in schema["patternProperties"].items():
                for name in value:
                    if self.matches(source, name):
                        yield from self.faults(inner, value[name], _inside(place, name))

    def additional(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            return
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name in value:
            if name in known or any(self.matches(source, name) for source in patterns):
                continue
            if schema["additionalProperties"] is False:
                yield Fault(_inside(place, name), f"is no key of it; there {_listed(list(known))}")
            else:
                yield from self.faults(schema["additionalProperties"], value[name], _inside(place, name))

    def names(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, dict):
            for name in value:
                if not self.fits(schema["propertyNames"], name):
                    yield Fault(_inside(place, name), "has a name that is not allowed")

    def dependent(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, dict):
            for name, needs in schema["dependentRequired"].items():
                for need in needs if name in value else ():
                    if need not in value:
                        yield Fault(_inside(place, need), f"is missing, which {shown(name)} needs")

    def dependent_schemas(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, dict):
            for name, inner in schema["dependentSchemas"].items():
                if name in value:
                    yield from self.faults(inner, value, place)

    def items(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, list):
            first = len(schema.get("prefixItems", ()))
            for number in range(first, len(value)):
                yield from self.faults(schema["items"], value[number], f"{place}[{number}]")

    def prefix(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, list):
            for number, (inner, each) in enumerate(zip(schema["prefixItems"], value, strict=False)):
                yield from self.faults(inner, each, f"{place}[{number}]")

    def contains(self, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, list):
            found, least = sum(self.fits(schema["contains"], each) for each in value), schema.get("minContains", 1)
            if found < least or found > schema.get("maxContains", found):
                yield Fault(place, f"contains {found} matching items, too few or too many")


def _type(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is_kind(kind, value) for kind in kinds):
        yield Fault(place, f"must be {' or '.join(_KINDS[kind] for kind in kinds)}, not {shown(value)}")


def _enum(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    if not any(equal(each, value) for each in schema["enum"]):
        yield Fault(
            place,
            f"must be one of {', '.join(map(shown, schema['enum'][:10]))}{_more(schema['enum'], 10)}, not {shown(value)}",
        )


def _const(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    if not equal(schema["const"], value):
        yield Fault(place, f"must be {shown(schema['const'])}, not {shown(value)}")


def _pattern(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    if isinstance(value, str) and not _matches(schema["pattern"], value):
        why = limited(schema["pattern"]).failure
        yield Fault(
            place, f"was not matched: {why}" if why else f"does not match {schema['pattern']!r}: {shown(value)}"
        )


def _format(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    reader = _FORMATS.get(schema["format"])
    if reader is None or not isinstance(value, str):
        return
    try:
        reader(value)
    except ValueError:
        yield Fault(place, f"must be a {schema['format']}, not {shown(value)}")


def _unique(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    if isinstance(value, list) and schema["uniqueItems"] and len({hashed(each) for each in value}) < len(value):
        yield Fault(place, "contains an item twice")


def _multiple(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    if not _is_kind("number", value):
        return
    step = schema["multipleOf"]
    if not _is_multiple(value, step):
        yield Fault(place, f"must be a multiple of {step}, not {shown(value)}")


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        return abs(value / step - round(value / step)) <= 1e-9
    except OverflowError:  # too large for a double
        return Fraction(str(value)) % Fraction(str(step)) == 0


def _size(
    keyword: str, kind: type, unit: str, too: Callable[[int, int], bool], word: str
) -> Callable[..., Iterator[Fault]]:
    def rule(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if isinstance(value, kind) and too(len(value), schema[keyword]):  # type: ignore[arg-type]
            yield Fault(place, f"must have at {word} {schema[keyword]} {unit}, not {len(value)}")  # type: ignore[arg-type]

    return rule


def _bound(keyword: str, breaks: Callable[[Any, Any], bool], word: str) -> Callable[..., Iterator[Fault]]:
    def rule(_check: _Check, schema: Schema, value: Any, place: str) -> Iterator[Fault]:
        if _is_kind("number", value) and breaks(value, schema[keyword]):
            yield Fault(place, f"must be {word} {schema[keyword]}, not {shown(value)}")

    return rule


def _below(size: int, least: int) -> bool:
    return size < least


def _above(size: int, most: int) -> bool:
    return size > most


_RULES: dict[str, Callable[..., Iterator[Fault]]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "$ref": _Check.ref,
    "required": _Check.required,
    "properties": _Check.properties,
    "patternProperties": _Check.pattern_properties,
    "additionalProperties": _Check.additional,
    "propertyNames": _Check.names,
    "dependentRequired": _Check.dependent,
    "dependentSchemas": _Check.dependent_schemas,
    "minProperties": _size("minProperties", dict, "keys", _below, "least"),
    "maxProperties": _size("maxProperties", dict, "keys", _above, "most"),
    "prefixItems": _Check.prefix,
    "items": _Check.items,
    "contains": _Check.contains,
    "minItems": _size("minItems", list, "items", _below, "least"),
    "maxItems": _size("maxItems", list, "items", _above, "most"),
    "uniqueItems": _unique,
    "minLength": _size("minLength", str, "characters", _below, "least"),
    "maxLength": _size("maxLength", str, "characters", _above, "most"),
    "pattern": _pattern,
    "format": _format,
    "minimum": _bound("minimum", lambda value, bound: value < bound, "at least"),
    "maximum": _bound("maximum", lambda value, bound: value > bound, "at most"),
    "exclusiveMinimum": _bound("exclusiveMinimum", lambda value, bound: value <= bound, "more than"),
    "exclusiveMaximum": _bound("exclusiveMaximum", lambda value, bound: value >= bound, "less than"),
    "multipleOf": _multiple,
    "allOf": _Check.all_of,
    "anyOf": _Check.any_of,
    "oneOf": _Check.one_of,
    "not": _Check.negated,
    "if": _Check.condition,
}
"""What is checked, in this order; other keywords only describe."""

_LONG = ("enum", "properties", "patternProperties", "required", "dependentRequired", "dependentSchemas")
"""Keywords that take a step for each of their parts."""

_KINDS = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "an object",
}
KINDS = frozenset(_KINDS)
"""The types of JSON Schema."""
KEYWORDS = frozenset(_RULES)


def _is_kind(kind: str, value: Any) -> bool:
    if kind == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    kinds: dict[str, Any] = {"boolean": bool, "string": str, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, kinds[kind])


def _of_type(schema: Schema, value: Any) -> bool:
    """Whether a schema is meant for values such as this one, as far as its type says."""
    if not isinstance(schema, dict) or "type" not in schema:
        return True
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return any(_is_kind(kind, value) for kind in kinds)


_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE)


def _time(text: str) -> None:
    if not _TIME.fullmatch(text):
        raise ValueError
    datetime.time.fromisoformat(text.upper())


def _date_time(text: str) -> None:
    if len(text) < 19 or text[10] not in "Tt ":
        raise ValueError
    datetime.datetime.fromisoformat(text.upper())


def _date(text: str) -> None:
    if len(text) != 10:
        raise ValueError
    datetime.date.fromisoformat(text)


_FORMATS: dict[str, Callable[[str], object]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "uuid": uuid.UUID,
}


def _matches(source: str, text: str) -> bool:
    return limited(source).search(text) > 0


def _inside(place: str, name: str) -> str:
    name = name.encode("utf-8", "replace").decode()
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,79}", name):
        return f"{place}.{name}"
    return f"{place}[{shown(name)}]"


def _listed(names: list[str]) -> str:
    if not names:
        return "are none"
    return f"are {', '.join(names[:20])}{_more(names, 20)}"


def _more(values: list[Any], told: int) -> str:
    return f" and {len(values) - told} more" if len(values) > told else ""


def shown(value: Any) -> str:
    """A value as faults show it: what it is, and the beginning of its JSON where that is short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        text = value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}…"
        return '"' + " ".join(text.split()) + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if not isinstance(value, int) or abs(value) < 10**60 else "a very large number"
