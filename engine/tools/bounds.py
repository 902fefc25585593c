"""The bounds of a JSON Schema in words: what a model is told of an argument besides its type."""

from __future__ import annotations

import json
from typing import Any

from engine.functions.fences import escape_json

_WORDS = {
    "exclusiveMinimum": "above {}",
    "minimum": "at least {}",
    "exclusiveMaximum": "below {}",
    "maximum": "at most {}",
    "multipleOf": "a multiple of {}",
    "minLength": "of at least {} characters",
    "maxLength": "of at most {} characters",
    "minItems": "with at least {} items",
    "maxItems": "with at most {} items",
    "pattern": "that matches {}",
    "format": "in the format {}",
}
_MOST_EXAMPLES = 3
_MOST_SHOWN = 200


def with_bounds(words: str, schema: dict[str, Any]) -> str:
    """The words of a kind with its bounds and examples: "a number, above 0, at most 500, such as 12.5"."""
    members = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(members) == 1:  # it may be left out
        schema = {**members[0], **schema}
    said = [form.format(_shown(schema[key])) for key, form in _WORDS.items() if key in schema]
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        said.append(f"such as {' or '.join(map(_shown, examples[:_MOST_EXAMPLES]))}")
    return ", ".join([words, *said])


def _shown(value: object) -> str:
    """A value as JSON that opens no tag and no fence; a text that is a pattern or a format too."""
    text = escape_json(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
