"""What the JSON Schemas of tools promise in the forms of the providers.

1. strict ones are closed, and what was optional may be null; 2. the engine's own tools describe every argument.

spec: @schemas
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import engine
from engine.functions.schemas import schema_anthropic, schema_openai

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "line": {"type": "integer", "default": 1},
        "how": {"enum": ["a", "b"], "type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "maybe": {"type": ["string", "null"]},
    },
    "required": ["path"],
}


def openai(schema: dict[str, Any], strict: int) -> dict[str, Any]:
    tool = json.loads(schema_openai("get", "read", json.dumps(schema), strict) or "")
    assert tool["type"] == "function"
    assert (tool["function"]["name"], tool["function"]["strict"]) == ("get", bool(strict))
    parameters: dict[str, Any] = tool["function"]["parameters"]
    return parameters


def objects(schema: Any) -> list[dict[str, Any]]:
    """All schemas of objects inside `schema`, itself included."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    inner = [found for each in schema.values() for found in objects(each)]
    return [schema, *inner] if schema.get("type") in ("object", ["object", "null"]) else inner


def test_a_strict_schema_is_closed_and_requires_every_property() -> None:
    strict = openai(SCHEMA, 1)
    assert len(objects(strict)) == 2
    for each in objects(strict):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])


def test_what_was_optional_may_be_null_and_what_was_required_may_not() -> None:
    properties = openai(SCHEMA, 1)["properties"]
    assert properties["path"] == {"type": "string"}
    assert properties["line"] == {"type": ["integer", "null"]}
    assert properties["how"] == {"enum": ["a", "b", None], "type": ["string", "null"]}
    assert properties["list"]["items"]["properties"]["x"] == {"type": ["string", "null"]}
    assert properties["either"] == {"anyOf": [{"anyOf": SCHEMA["properties"]["either"]["anyOf"]}, {"type": "null"}]}
    assert properties["maybe"] == {"type": ["string", "null"]}


def test_a_schema_that_is_not_strict_stays_as_it_is() -> None:
    assert openai(SCHEMA, 0) == SCHEMA
    assert json.loads(schema_anthropic("get", "read", json.dumps(SCHEMA)) or "") == {
        "name": "get",
        "description": "read",
        "input_schema": SCHEMA,
    }


def test_a_tool_without_properties_takes_a_body() -> None:
    assert openai({"type": "object"}, 0)["properties"] == {"body": {"type": "string"}}
    assert openai({"type": "object", "properties": {}}, 1)["properties"] == {}


def test_null_is_null() -> None:
    assert schema_openai(None, "", "{}", 0) is schema_anthropic("get", "", None) is None


@pytest.mark.parametrize("schema", ["[]", "{", "1"])
def test_what_is_no_schema_is_refused(schema: str) -> None:
    with pytest.raises(engine.ValidationError, match="schema of a tool"):
        schema_openai("get", "read", schema, 1)


def test_every_argument_of_the_tools_is_described(db: engine.Database) -> None:
    for row in db.rows("select name, schema from tools"):
        schema = json.loads(row["schema"])
        assert set(schema["required"]) <= set(schema["properties"])
        for name, argument in schema["properties"].items():
            assert argument["type"] in ("string", "integer", "number", "boolean"), (row["name"], name)
            assert argument["description"], (row["name"], name)
