"""The JSON Schema of a server's tool, as models and grammars take it: without references, bounded in depth and size.

What is left out makes the schema wider, never narrower: the server judges its arguments itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.tools import kinds
from engine.tools.kinds import Kind, Schema, json_of

from .limits import ARGUMENT_CHARACTERS, SCHEMA_LEVELS, SCHEMA_VALUES
from .words import line


def _short(value: object) -> object:
    """A number as it is written: 2 is not 2.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


_EXACT = 2**53
_NUMBER = replace(
    kinds.NUMBER,
    read=lambda text, place: _short(kinds.NUMBER.read(text, place)),
    make=lambda value, place: _short(kinds.NUMBER.make(value, place)),
)
_PLAIN = {
    "string": kinds.TEXT,
    "integer": kinds.WHOLE,
    "number": _NUMBER,
    "boolean": kinds.FLAG,
    "null": kinds.NOTHING,
}


def simple(schema: object, whole: Mapping[str, Any], *, levels: int = SCHEMA_LEVELS, described: bool = True) -> Schema:
    """A schema with types, items, properties, enumerations and descriptions only; `whole` is what references lead into."""
    found = _followed(schema, whole)
    if not isinstance(found, Mapping) or levels <= 0:
        return {}
    made: Schema = {}
    kind = found.get("type")
    if isinstance(kind, list):  # ["string", "null"]
        kind = next((each for each in kind if each != "null"), None)
    options = found.get("anyOf") or found.get("oneOf")
    if kind is None and isinstance(options, list):
        return _widened(found, options, whole, levels, described)
    if isinstance(kind, str) and (kind in _PLAIN or kind in ("object", "array")):
        made["type"] = kind
    if described and isinstance(words := found.get("description"), str):
        made["description"] = line(words, ARGUMENT_CHARACTERS)
    values = found.get("enum")
    if isinstance(values, list) and 0 < len(values) <= SCHEMA_VALUES and all(_is_plain(each) for each in values):
        made["enum"] = values
    if kind == "array":
        made["items"] = simple(found.get("items", {}), whole, levels=levels - 1, described=described)
    if isinstance(properties := found.get("properties"), Mapping) and kind in (None, "object"):
        made["type"] = "object"
        names = [name for name in properties if isinstance(name, str) and line(name, 64) == name][:SCHEMA_VALUES]
        made["properties"] = {
            name: simple(properties[name], whole, levels=levels - 1, described=described) for name in names
        }
        required = found.get("required")
        made["required"] = [name for name in names if isinstance(required, list) and name in required]
    return made


def kind_of(schema: Schema) -> Kind:
    """How a value of a simple schema is read and checked."""
    kind = schema.get("type")
    if "enum" in schema:
        return kinds.choice([(each, each) for each in schema["enum"]])
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "array":
        return kinds.listing(kind_of(schema.get("items", {})))
    if kind == "object":
        return Kind("an object", schema, lambda text, place: json_of(text, place, "an object"), _object)
    return kinds.ANYTHING


def _object(value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise kinds.wrong(place, "an object", value)
    return value


def _widened(
    found: Mapping[str, Any], options: list[Any], whole: Mapping[str, Any], levels: int, described: bool
) -> Schema:
    """Of several shapes the only one that is not null; else any value."""
    shapes = [simple(each, whole, levels=levels - 1, described=described) for each in options[:SCHEMA_VALUES]]
    real = [each for each in shapes if each.get("type") != "null"]
    made = real[0] if len(real) == 1 else {}
    if described and isinstance(words := found.get("description"), str):
        made = made | {"description": line(words, ARGUMENT_CHARACTERS)}
    return made


def _followed(schema: object, whole: Mapping[str, Any]) -> object:
    """What a schema is behind its references within the document; those that go on for ever are any value."""
    for _ in range(SCHEMA_LEVELS):
        if not isinstance(schema, Mapping) or not isinstance(place := schema.get("$ref"), str):
            return schema
        schema = whole
        for step in place.removeprefix("#").strip("/").split("/"):
            schema = schema.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(schema, Mapping) else None
    return {}


def _is_plain(value: object) -> bool:
    return value is None or (isinstance(value, str | int | float | bool) and len(str(value)) <= ARGUMENT_CHARACTERS)
