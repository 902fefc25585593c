"""JSON Schemas of tools in the forms that providers expect.

spec: @schemas
"""

from __future__ import annotations

from typing import Any

from engine.errors import ValidationError
from engine.functions.compact import from_json, to_json

Schema = dict[str, Any]

# Keywords that a strict schema may not have: they cannot be checked while the text is generated.
_NOT_STRICT = ("default", "$schema")
_SAYING = frozenset({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"})
_UNKNOWN_TO_STRICT = frozenset(
    {
        "not",
        "if",
        "patternProperties",
        "propertyNames",
        "prefixItems",
        "contains",
        "dependentRequired",
        "dependentSchemas",
    }
)
_UNIONS = ("anyOf", "oneOf", "allOf")
_KEPT_BY_ANTHROPIC = frozenset(
    {
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "allOf",
        "enum",
        "const",
        "description",
        "title",
        "additionalProperties",
    }
)
"""Keywords that Anthropic keeps to while it writes; a schema with another one is refused, so the others are left out."""
_MOST_OPTIONAL, _MOST_UNIONS = 24, 16
"""Properties that are not required, and unions, of which Anthropic takes no more in one schema."""


def schema_openai(name: str | None, description: str | None, schema: str | None, strict: int | None) -> str | None:
    """A tool for OpenAI's function calling: JSON ``{"type": "function", "function": {…}}``.

    With `strict` not 0 every object is closed and all of its properties are required; what was optional may be
    null instead. NULL for a NULL name or schema; raises `ValidationError` (400) where `schema` is no JSON object.
    """
    if name is None or schema is None:
        return None
    parameters = arguments_schema(schema)
    function = {
        "name": name,
        "description": description or "",
        "parameters": strict_schema(parameters) if strict else parameters,
        "strict": bool(strict),
    }
    return to_json({"type": "function", "function": function})


def schema_anthropic(name: str | None, description: str | None, schema: str | None) -> str | None:
    """A tool for Anthropic's API: JSON ``{"name", "description", "input_schema"}``.

    NULL for a NULL name or schema; raises `ValidationError` (400) where `schema` is no JSON object.
    """
    if name is None or schema is None:
        return None
    return to_json({"name": name, "description": description or "", "input_schema": arguments_schema(schema)})


def arguments_schema(schema: str) -> Schema:
    """The schema of a tool's arguments; one without properties gets the property `body`.

    Raises `ValidationError` (400) where `schema` is no JSON object.
    """
    try:
        parsed = from_json(schema)
    except ValueError as error:
        raise ValidationError(f"the schema of a tool is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValidationError('the schema of a tool must be a JSON object such as {"type":"object"}')
    return {"properties": {"body": {"type": "string"}}, **parsed, "type": "object"}


def strict_schema(schema: Schema) -> Schema:
    """`schema` with every object closed and every property required; optional ones may be null."""
    strict: Schema = {key: value for key, value in schema.items() if key not in _NOT_STRICT}
    for union in _UNIONS:
        if union in strict:
            strict[union] = [strict_schema(each) for each in strict[union]]
    if "$defs" in strict:
        strict["$defs"] = {name: strict_schema(each) for name, each in strict["$defs"].items()}
    if isinstance(strict.get("items"), dict):
        strict["items"] = strict_schema(strict["items"])
    if "properties" in strict:
        required = strict.get("required", ())
        strict["properties"] = {
            name: strict_schema(each) if name in required else _nullable(strict_schema(each))
            for name, each in strict["properties"].items()
        }
    if "properties" in strict or strict.get("type") == "object":
        strict |= {"required": list(strict.get("properties", ())), "additionalProperties": False}
    return strict


def is_strictable(schema: Schema) -> bool:
    """Whether the strict form can say what `schema` does: it has no object with any keys, and no value of any kind."""
    if schema.get("additionalProperties") not in (None, False) or schema.keys().isdisjoint(_SAYING):
        return False
    if not schema.keys().isdisjoint(_UNKNOWN_TO_STRICT):
        return False
    inner = [*schema.get("properties", {}).values(), *(each for union in _UNIONS for each in schema.get(union, ()))]
    inner += schema.get("$defs", {}).values()
    inner += [schema["items"]] if isinstance(schema.get("items"), dict) else []
    return all(map(is_strictable, inner))


def anthropic_form(schema: Schema) -> Schema | None:
    """The form of a text for Anthropic's API: `schema` with every object closed; None for one that it could not keep to.

    Bounds of numbers, texts and lists are left out, because the API refuses them: they are checked of the answer.
    """
    if not is_strictable(schema) or "$defs" in schema:
        return None
    form, optional, unions = _closed(schema)
    return form if optional <= _MOST_OPTIONAL and unions <= _MOST_UNIONS else None


def _closed(schema: Schema) -> tuple[Schema, int, int]:
    """The closed form of `schema`, and how many optional properties and unions it has."""
    form = {key: value for key, value in schema.items() if key in _KEPT_BY_ANTHROPIC}
    unions = int("anyOf" in schema or "oneOf" in schema or isinstance(schema.get("type"), list))
    properties = schema.get("properties", {})
    optional = sum(name not in schema.get("required", ()) for name in properties)

    def closed(part: Schema) -> Schema:
        nonlocal optional, unions
        form, more_optional, more_unions = _closed(part)
        optional, unions = optional + more_optional, unions + more_unions
        return form

    if properties or schema.get("type") == "object":
        form |= {"properties": {name: closed(each) for name, each in properties.items()}, "additionalProperties": False}
    if isinstance(schema.get("items"), dict):
        form["items"] = closed(schema["items"])
    for union in _UNIONS:
        if union in schema:
            form["allOf" if union == "allOf" else "anyOf"] = [closed(each) for each in schema[union]]
    return form, optional, unions


def _nullable(schema: Schema) -> Schema:
    """`schema`, or null."""
    kind = schema.get("type")
    if kind is None or "const" in schema:
        return schema if kind == "null" else {"anyOf": [schema, {"type": "null"}]}
    kinds = kind if isinstance(kind, list) else [kind]
    nullable = schema | {"type": [*kinds, "null"]} if "null" not in kinds else dict(schema)
    if "enum" in schema and None not in schema["enum"]:
        nullable["enum"] = [*schema["enum"], None]
    return nullable
