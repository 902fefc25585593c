"""Answers are held against JSON Schemas as another checker holds them, and nothing that a model or a schema says is slow.

1. What fits and what does not is what the library jsonschema says, for random schemas and values.
2. Each fault has its place and says what is there.
3. What no schema speaks of is refused: repeated keys, NaN, halves of characters, depth, numbers without end.
4. Schemas that could not be kept to are refused; patterns, references and sizes hold nothing up.
5. Grammars let a model write what fits; an answer that arrives is read as far as it is there.

spec: @typed_answers @partial_answers @answer_schemas @answer_values @answer_faults @functions
"""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest
from gbnf import Grammar
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.grammars import grammar_answer, grammar_gbnf
from engine.functions.markup.answer import response_parse
from engine.functions.typed_answers.answers import answer_read, answer_told
from engine.functions.typed_answers.checker import faults_of
from engine.functions.typed_answers.partial import NOTHING, partial_value
from engine.functions.typed_answers.tools import answer_tool
from engine.functions.typed_answers.validity import MOST_CHARACTERS, schema_error
from engine.functions.values import value_error

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "a", "ab", "", "xyz"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
COUNTS = st.integers(0, 2)


def objects_with(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of some keywords."""
    some, named = st.lists(inner, min_size=1, max_size=2), st.dictionaries(NAMES, inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "properties": named,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=1),
            "additionalProperties": inner,
            "propertyNames": inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
            "dependentSchemas": named,
            "items": inner,
            "prefixItems": some,
            "contains": inner,
            "minContains": COUNTS,
            "uniqueItems": st.booleans(),
            "minItems": COUNTS,
            "maxProperties": COUNTS,
            "minLength": COUNTS,
            "maxLength": COUNTS,
            "pattern": st.sampled_from(["a", "^x", "z$"]),
            "minimum": st.integers(-1, 1),
            "exclusiveMaximum": st.integers(-1, 2),
            "multipleOf": st.sampled_from([2, 0.5]),
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        },
    )


SCHEMAS = st.recursive(st.booleans() | KINDS.map(lambda kind: {"type": kind}), objects_with, max_leaves=8)


def read(schema: Any, answer: str, prose: str | None = None) -> Any:
    found = answer_read(json.dumps(schema), answer, prose)
    assert found is not None
    told = json.loads(found)
    return (
        json.loads(told["output"]) if "output" in told else [(each["place"], each["said"]) for each in told["faults"]]
    )


def places(schema: Any, answer: str) -> list[str]:
    return [place for place, _ in read(schema, answer)]


# 1. as another checker says


@given(SCHEMAS, VALUES)
def test_what_fits_is_what_another_checker_says(schema: Any, value: Any) -> None:
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (faults_of(schema, value) == []) == fits


@given(objects_with(SCHEMAS))
def test_a_schema_of_known_keywords_is_taken(schema: Any) -> None:
    assert schema_error(json.dumps(schema)) is None


# 2. each fault and its place

ORDER = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "paid by": {"enum": ["card", "cash"]},
    },
    "required": ["lines", "date"],
    "additionalProperties": False,
    "$defs": {
        "Line": {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}, "required": ["price"]}
    },
}


def test_each_fault_has_its_place() -> None:
    answer = '{"lines":[{"price":1},{"price":"cheap"},{"price":-1},{}],"paid by":"gold","more":1}'
    assert read(ORDER, answer) == [
        ("$.date", "is missing"),
        ("$.lines[1].price", 'must be a number, not "cheap"'),
        ("$.lines[2].price", "must be at least 0, not -1"),
        ("$.lines[3].price", "is missing"),
        ('$["paid by"]', 'must be one of "card", "cash", not "gold"'),
        ("$.more", "is no key of it; there are lines, paid by"),
    ]


def test_of_a_union_the_part_that_was_meant_says_what_is_wrong() -> None:
    schema = {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "null"}]}
    assert places(schema, "{}") == ["$.a"]
    assert read(schema, "3") == [("$", "fits none of the 2 allowed forms: 3")]


def test_at_most_twenty_faults_are_told() -> None:
    assert len(read({"type": "array", "items": {"type": "string"}}, json.dumps(list(range(1000))))) == 20


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("date", "2026-02-28", "2026-02-30"),
        ("time", "10:00:00Z", "25:00"),
        ("date-time", "2026-02-28T10:00:00Z", "2026-02-28"),
        ("uuid", "12345678-1234-5678-1234-567812345678", "1234"),
    ],
)
def test_formats_of_dates_and_uuids_are_checked(kind: str, good: str, bad: str) -> None:
    schema = {"type": "string", "format": kind}
    assert read(schema, good) == good
    assert read(schema, bad) == [("$", f'is a {kind}, not "{bad}"')] or places(schema, bad) == ["$"]


def test_a_text_that_fits_is_that_text() -> None:
    assert read({"enum": ["yes", "no"]}, "yes\n") == "yes"
    assert read({"type": "string"}, "12") == "12"
    assert read({"type": "string"}, '"12"') == "12"
    assert read({"type": "integer"}, "", "```json\n12\n```") == 12
    assert read({"type": "integer"}, " ", None) == [("$", "is missing: the answer is empty")]


# 3. what no schema speaks of


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"a":1,"a":2}', "has the key 'a' twice in one object"),
        ('{"a":{"b":NaN}}', "holds NaN, which is no JSON"),
        ("[-Infinity]", "holds -Infinity, which is no JSON"),
        ("[1e999]", "holds a number that is too large"),
        ("9" * 10_000, "holds a number that is too long"),
        ('["\\ud800"]', "holds half of a character (a lone surrogate)"),
        ('{"\\udc00":1}', "holds half of a character (a lone surrogate)"),
        ("[" * 100 + "]" * 100, "has more than 64 levels"),
        ("[" * 300_000, "has more than 64 levels"),
        ('{"a":1', "is not JSON: Expecting ',' delimiter in line 1, column 7"),
    ],
)
def test_what_readers_of_json_disagree_on_is_refused(answer: str, said: str) -> None:
    assert read({}, answer) == [("$", said)]


def test_a_million_characters_are_read_in_time() -> None:
    began = time.process_time()
    assert places({"items": {"type": "string", "maxLength": 2}}, json.dumps(["abc"] * 150_000))[0] == "$[0]"
    huge = {"type": "array", "items": {"enum": [f"word{number}" for number in range(8_000)]}}
    assert read(huge, json.dumps(["word7999"] * 50_000)) == [
        ("$", "takes too many steps to check; give a shorter answer")
    ]
    assert time.process_time() - began < 20


# 4. schemas


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/x.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json#/a"},
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/type", "type": "object"},
        {"unevaluatedProperties": False},
        {"properties": {"a": {"pattern": "(a"}}},
        {"type": "float"},
        {"minimum": "1"},
        {"required": "a"},
        {"anyOf": []},
        {"multipleOf": 0},
        {"items": [{"type": "string"}]},
        [],
        {"description": "x" * MOST_CHARACTERS},
    ],
)
def test_a_schema_that_could_not_be_kept_to_is_refused(schema: Any) -> None:
    assert schema_error(json.dumps(schema)) is not None
    assert value_error(json.dumps(schema), "schema", None, None) == schema_error(json.dumps(schema))


@pytest.mark.parametrize(
    "text", ['{"type":"object","type":"array"}', '{"minimum":NaN}', "{", '{"a":' * 100 + "1" + "}" * 100]
)
def test_what_is_no_json_is_no_schema(text: str) -> None:
    assert schema_error(text) is not None


def test_a_schema_may_refer_to_itself_through_the_value() -> None:
    tree = {"type": "object", "properties": {"inner": {"$ref": "#"}, "name": {"type": "string"}}, "required": ["name"]}
    assert schema_error(json.dumps(tree)) is None
    assert read(tree, '{"name":"a","inner":{"name":"b"}}') == {"name": "a", "inner": {"name": "b"}}
    assert places(tree, '{"name":"a","inner":{"inner":{}}}') == ["$.inner.name", "$.inner.inner.name"]


def test_a_schema_without_end_is_given_up() -> None:
    round_about = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}, "$ref": "#/$defs/a"}
    assert schema_error(json.dumps(round_about)) is None
    assert places(round_about, "1") == ["$"]


def test_a_pattern_has_its_time() -> None:
    began = time.process_time()
    evil = {"type": "string", "pattern": "^(a|a?)+$"}
    found = read(evil, "a" * 5_000 + "!")
    assert [place for place, _ in found] == ["$"]
    assert time.process_time() - began < 5


WHOLE = '{"a": "he\\u00e9l \\"lo", "n": [123, {"b": true}], "c": null}'


def test_a_partial_answer_only_grows_and_ends_as_the_answer() -> None:
    for opening in ("", '<update status="102">I {read}</update><update status="200">', "```json\n"):
        seen: list[Any] = []
        for end in range(len(WHOLE) + 1):
            value = partial_value(opening + WHOLE[:end])
            if value is not NOTHING and (not seen or value != seen[-1]):
                seen.append(value)
        assert seen[0] == {}
        assert seen[-1] == json.loads(WHOLE)
        assert [len(json.dumps(each)) for each in seen] == sorted(len(json.dumps(each)) for each in seen)
        assert {"a": 'heél "l'} in seen
        assert not any(str(each).endswith("12]}") for each in seen)  # no half number


@given(st.text(alphabet='{}[]",:\\u0aé1tnf <', max_size=60))
def test_a_partial_answer_is_none_or_json(text: str) -> None:
    value = partial_value(text)
    assert value is NOTHING or isinstance(value, dict | list)


UPDATE = json.dumps(
    {"type": "object", "properties": {"status": {}, "body": {"type": "string"}}, "required": ["status", "body"]}
)


def test_the_tool_takes_the_answer_and_what_it_refers_to() -> None:
    update = UPDATE
    tool = json.loads(str(answer_tool(update, json.dumps(ORDER))))
    assert tool["properties"]["body"]["anyOf"][0]["required"] == ["lines", "date"]
    assert tool["$defs"] == ORDER["$defs"]
    tree = {"type": "array", "items": {"$ref": "#"}}
    told = json.loads(str(answer_tool(update, json.dumps(tree))))
    assert told["$defs"] == {"answer": {"type": "array", "items": {"$ref": "#/$defs/answer"}}}
    assert answer_tool(update, None) == update


def test_the_prompt_tells_the_schema_and_nothing_without_one() -> None:
    assert answer_told('{"max_turns":3}') == ""
    assert answer_told('{"output":{"type":"integer","$comment":"app.Count"}}') == answer_told(
        '{"output":"{\\"type\\":\\"integer\\"}"}'
    )


FORMS = [
    ORDER,
    {"type": "array", "items": {"type": "integer"}},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["boolean", "null"]}}},
    {"type": "object", "additionalProperties": {"type": "number"}},
    {
        "$ref": "#/$defs/T",
        "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}, "required": []}},
    },
    {"anyOf": [{"enum": ["a<b", 3, None]}, {"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}]}]},
    {"type": "string"},
    {},
]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_what_a_grammar_lets_a_model_write_is_an_answer_that_fits(form: dict[str, Any]) -> None:
    grammar = Grammar(str(grammar_answer(json.dumps(form))))
    update = {"name": "update", "schema": json.loads(str(answer_tool(UPDATE, json.dumps(form))))}
    whole = Grammar(str(grammar_gbnf(json.dumps([update]))))
    for seed in range(60):
        for sentence in (grammar.sentence(seed), whole.sentence(seed)):
            (command,) = json.loads(str(response_parse(sentence, '["update"]', 10, 0)))["commands"]
            if str(command["attributes"]["status"]) == "200":
                told = json.loads(str(answer_read(json.dumps(form), command["body"], None)))
                # bounds, repeated keys and the length of numbers are checked when the answer is there
                loose = ("at least", "twice", "too long", "too large", "levels", "is missing")
                faults = [each for each in told.get("faults", []) if not any(word in each["said"] for word in loose)]
                assert faults == [], sentence
