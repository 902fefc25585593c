"""Schemas and answers that were made to hold a turn up, or to end it.

spec: @answer_schemas @answer_faults
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from engine.functions.typed_answers.answers import answer_read
from engine.functions.typed_answers.validity import schema_error

HUGE = "1" + "0" * 400
CHAIN = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 60} for i in range(5)} | {"d5": {"type": "integer"}}
PATTERNS: dict[str, Any] = {f"^x{i}$": {} for i in range(3_000)}


@pytest.mark.parametrize(
    "schema",
    [
        '{"$ref": "#/default", "default": {"type": 7}}',
        '{"$ref": "#/default", "default": {"properties": 7}}',
        '{"properties": {"a": {"$ref": "#/other"}}, "other": {"items": {"enum": 3}}}',
    ],
)
def test_a_reference_leads_to_what_is_checked_as_a_schema(schema: str) -> None:
    assert (schema_error(schema) or "").startswith("is not a usable JSON Schema: ")


@pytest.mark.parametrize(
    ("schema", "answer", "fits"),
    [
        ('{"multipleOf": 0.5}', HUGE, True),
        ('{"multipleOf": 0.75}', HUGE, False),
        ('{"multipleOf": 1e-308}', "5", True),
        (f'{{"multipleOf": {HUGE}}}', "5.5", False),
        (f'{{"minimum": {HUGE}}}', "5.5", False),
        (f'{{"maximum": {HUGE}}}', "5.5", True),
    ],
)
def test_numbers_that_no_double_holds_are_compared(schema: str, answer: str, fits: bool) -> None:
    assert schema_error(schema) is None
    assert ("output" in json.loads(answer_read(schema, answer, None) or "")) == fits


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"anyOf": [{"$ref": "#"}] * 100}, "no JSON"),
        ({"$ref": "#/$defs/d0", "$defs": CHAIN}, "no JSON"),
        ({"uniqueItems": True}, json.dumps([i * (2**61 - 1) for i in range(40_000)])),
        ({"patternProperties": PATTERNS}, json.dumps({f"k{i}": 1 for i in range(30_000)})),
        (
            {"patternProperties": PATTERNS, "additionalProperties": False},
            json.dumps({f"k{i}": 1 for i in range(30_000)}),
        ),
        ({"items": {"dependentRequired": {f"q{i}": [] for i in range(5_000)}}}, json.dumps([{}] * 100_000)),
    ],
)
def test_no_schema_and_no_answer_holds_a_turn_up(schema: Any, answer: str) -> None:
    began = time.process_time()
    assert answer_read(json.dumps(schema), answer, None) is not None
    assert time.process_time() - began < 20


def test_numbers_of_one_value_are_one_item() -> None:
    for items, fits in (("[1, 1.0]", False), ("[1, true]", True), ("[1.5, 15e-1]", False), ("[0.0, -0.0]", False)):
        assert ("output" in json.loads(answer_read('{"uniqueItems": true}', items, None) or "")) == fits
