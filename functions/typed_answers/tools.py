"""What an update takes where its answer has a schema.

spec: @typed_answers
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from engine.functions.compact import to_json

_NAME = "answer"
_DEFS = "#/$defs/"


@lru_cache(maxsize=64)
def answer_tool(schema: str | None, output: str | None) -> str | None:
    """The schema of the tool update with the argument `body` of the JSON Schema `output`, or a text that says what goes on.

    NULL for a NULL schema; the schema itself for a NULL output.
    """
    if schema is None or output is None:
        return schema
    tool, answer = json.loads(schema), _without(json.loads(output), "$comment", "$schema")
    said = {"type": "string", "description": "with 102 and 422: what goes on, or why it cannot be done"}
    body, defs = placed(answer)
    tool["properties"]["body"] = {
        "anyOf": [body, said],
        "description": "with 200 the answer, of the form that is asked for",
    }
    return to_json(tool | ({"$defs": defs} if defs else {}))


def placed(answer: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema as a part of another one, and the definitions that it needs there."""
    references = list(_references(answer))
    if all(each.startswith(_DEFS) for each in references):
        return _without(answer, "$defs"), answer.get("$defs", {}) if references else {}
    return {"$ref": _DEFS + _NAME}, {_NAME: _moved(answer)}


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [found for each in schema for found in _references(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [found for each in schema.values() for found in _references(each)]


def _moved(schema: Any) -> Any:
    """A schema whose references lead to where it stands now."""
    if isinstance(schema, list):
        return [_moved(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _moved(value) for key, value in schema.items()}
    if isinstance(reference := schema.get("$ref"), str):
        moved["$ref"] = f"{_DEFS}{_NAME}{reference.removeprefix('#')}"
    return moved


def _without(schema: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in names}
