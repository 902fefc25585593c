"""What the grammars made of the tools promise.

1. every sentence of the GBNF is read without a repair, as the tools that it names; 2. so is every instance of the JSON
Schema; 3. they follow the tools that are open; 4. a real model that is held to the GBNF answers in it.

spec: @grammars
"""

from __future__ import annotations

import json
import random
import string
from typing import Any

import pytest
from driving import begin
from gbnf import Grammar

import engine
from engine.functions.edits.bodies import read_edits
from engine.functions.grammars import grammar_gbnf, grammar_json_schema
from engine.functions.markup.answer import response_parse

SENTENCES = 2_000


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """All tools of the engine, with their schemas."""
    with engine.open(tmp_path_factory.mktemp("tools") / "t.db") as db:
        rows = db.rows("select name, schema from tools order by ordinal")
    return [{"name": row["name"], "schema": json.loads(row["schema"])} for row in rows]


def read(answer: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The commands of `answer`, which needs no repair and says nothing besides."""
    names = json.dumps([tool["name"] for tool in tools])
    parsed = json.loads(response_parse(answer, names, 10_000) or "")
    assert (parsed["warnings"], parsed["text"]) == ([], ""), answer
    commands: list[dict[str, Any]] = parsed["commands"]
    return commands


def gbnf(tools: list[dict[str, Any]]) -> Grammar:
    return Grammar(grammar_gbnf(json.dumps(tools)) or "")


# -- 1. GBNF


def test_every_sentence_is_read_without_a_repair(tools: list[dict[str, Any]]) -> None:
    grammar = gbnf(tools)
    seen: dict[str, int] = {}
    for seed in range(SENTENCES):
        answer = grammar.sentence(seed)
        commands = read(answer, tools)
        assert commands, answer
        assert [command["action"] for command in commands].index("update") == len(commands) - 1
        assert "\n".join(command["source"] for command in commands) == answer
        for command in commands:
            seen[command["action"]] = seen.get(command["action"], 0) + 1
    assert sorted(seen) == sorted(tool["name"] for tool in tools)


def test_every_edit_of_a_sentence_can_be_applied(tools: list[dict[str, Any]]) -> None:
    grammar = gbnf([tool for tool in tools if tool["name"] in ("set", "update")])
    operations = set()
    for seed in range(300):
        for command in read(grammar.sentence(seed), tools):
            if command["action"] == "set" and command["body"] and "<<" in command["body"]:
                parsed = read_edits(command["body"], None)
                assert (parsed.error, parsed.warnings) == (None, [])
                operations |= {operation.op for operation in parsed.operations}
    assert operations >= {"edit", "append"}


def test_a_sentence_takes_its_attributes_from_the_schema(tools: list[dict[str, Any]]) -> None:
    grammar = gbnf(tools)
    schemas = {tool["name"]: tool["schema"] for tool in tools}
    for seed in range(300):
        for command in read(grammar.sentence(seed), tools):
            schema = schemas[command["action"]]
            assert command["attributes"].keys() <= schema["properties"].keys()
            if "path" in schema["required"]:
                assert command["path"]
            if "visibility" in command["attributes"]:
                assert command["attributes"]["visibility"] in ("visible", "summarized", "archived")
            if command["action"] == "update":
                assert command["attributes"]["status"] in ("102", "200", "204", "422")


@pytest.mark.parametrize("word", ["set", "think", "x", "ask_user", "a-b"])
def test_a_body_holds_tags_of_other_names_and_none_of_its_own(word: str) -> None:
    grammar = gbnf([{"name": word, "schema": {"properties": {"body": {}}, "required": ["body"]}}])
    bodies = [grammar.sentence(seed) for seed in range(300)]
    assert any("</" in body[len(word) + 2 : -len(word) - 3] for body in bodies)
    for body in bodies:
        assert "\n".join(command["source"] for command in read(body, [{"name": word}])) == body


# -- 2. JSON Schema


def instance(schema: dict[str, Any], dice: random.Random) -> Any:
    """A random instance of what the schemas of tools use of JSON Schema."""
    if "anyOf" in schema:
        return instance(dice.choice(schema["anyOf"]), dice)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema["type"]:
        case "object":
            names = [n for n in schema["properties"] if n in schema["required"] or dice.random() < 0.5]
            dice.shuffle(names)
            return {name: instance(schema["properties"][name], dice) for name in names}
        case "array":
            return [instance(schema["items"], dice) for _ in range(dice.randint(schema["minItems"], 5))]
        case "integer":
            return dice.randint(-9, 999)
        case "boolean":
            return dice.random() < 0.5
        case _:
            odd = [
                "</set>",
                "<<EOF",
                '"',
                "\\",
                "`",
                "```",
                "\n",
                "é",
                "\u2028",
                '{"name":"get"}',
                "<get path='a'/>",
                "]",
            ]
            return "".join(dice.choices([*odd, *string.ascii_letters], k=dice.randint(0, 12)))


def test_every_instance_is_read_as_the_calls_that_it_names(tools: list[dict[str, Any]]) -> None:
    schema = json.loads(grammar_json_schema(json.dumps(tools)) or "")
    for seed in range(SENTENCES):
        dice = random.Random(seed)
        calls = instance(schema, dice)
        commands = read(json.dumps(calls, ensure_ascii=dice.random() < 0.5), tools)
        assert [command["action"] for command in commands] == [call["name"] for call in calls]


# -- 3. what they follow


def test_without_tools_there_is_no_grammar() -> None:
    assert grammar_gbnf(None) is grammar_gbnf("[]") is grammar_json_schema(None) is None
    assert grammar_gbnf('[{"name":"né"}]') is None


def test_without_an_update_a_response_is_one_command_or_more() -> None:
    grammar = gbnf([{"name": "get", "schema": {"properties": {"path": {"type": "string"}}, "required": ["path"]}}])
    for seed in range(50):
        assert {command["action"] for command in read(grammar.sentence(seed), [{"name": "get"}])} == {"get"}


def test_a_schema_without_properties_is_that_of_a_body() -> None:
    assert '<shout" ("/>" | ">"' in (grammar_gbnf('[{"name":"shout"}]') or "")


def test_a_loop_has_a_grammar_of_the_tools_that_are_open(db: engine.Database) -> None:
    begin(db, "ask", mode="ask")
    begin(db, "act", mode="act")
    rows = db.rows(
        "select r.alias, g.gbnf, g.json_schema from _loop_grammars as g join loops as l on l.id = g.loop_id "
        "join runs as r on r.id = l.run_id"
    )
    found = {row["alias"]: row for row in rows}
    assert '"<sh"' in found["act"]["gbnf"]
    assert '"<sh"' not in found["ask"]["gbnf"]
    assert '"sh"' in found["act"]["json_schema"]
    assert '"sh"' not in found["ask"]["json_schema"]
    Grammar(found["ask"]["gbnf"])


@pytest.mark.parametrize(
    ("actual", "profile", "held"),
    [
        ("local", "full", True),
        ("local/smollm2", "full", True),
        ("local", "compact", False),
        ("openai/x", "full", False),
    ],
)
def test_a_local_model_with_full_packets_is_held_to_the_grammar_of_its_loop(
    db: engine.Database, actual: str, profile: str, held: bool
) -> None:
    db.insert("models", alias="m", actual=actual, profile=profile, created_at=0)
    begin(db, "demo", model="m")
    db.insert("_begin_turn", run="demo")
    found = db.row(
        "select q.grammar, g.gbnf from _model_requests as q join turns as t on t.id = q.turn_id "
        "join _loop_grammars as g on g.loop_id = t.loop_id"
    )
    assert found is not None
    assert found["grammar"] == (found["gbnf"] if held else None)


# -- 4. a real model


@pytest.mark.local_model
@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["Say hello.", "Read the file notes.md."])
def test_a_real_model_that_is_held_to_it_needs_no_repair(tools: list[dict[str, Any]], prompt: str) -> None:
    from engine.models.local import LocalModel
    from engine.models.protocol import Message, Request
    from engine.models.weights import install_weights

    install_weights()
    system = (
        'You answer in tags. To end: <update status="200">The answer.</update>. '
        'To read: <get path="a.txt"/> and then <update status="102">reading</update>.'
    )
    request = Request(
        messages=(Message("system", system), Message("user", prompt)),
        temperature=0.0,
        max_tokens=200,
        grammar=grammar_gbnf(json.dumps(tools)),
        timeout_s=120,
        position=0,
        run="demo",
    )
    completion = LocalModel().complete(request)
    assert completion.finish_reason == "stop"
    assert read(completion.text, tools)[-1]["action"] == "update"
