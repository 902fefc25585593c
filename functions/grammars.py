"""Grammars of what a model may answer, made of the JSON Schemas of its tools.

A GBNF grammar makes a local model write responses in the engine's markup; a JSON Schema makes a provider return a list
of calls. The parser reads all of their output without a repair.

spec: @grammars
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from engine.errors import ValidationError
from engine.functions.compact import from_json, to_json
from engine.functions.lazy import lazy_regex
from engine.functions.schemas import Schema, arguments_schema

from .markup.gbnf import CHARACTERS, edits, literal, text_within
from .markup.json_gbnf import json_rules
from .typed_answers.tools import placed

_NAME = lazy_regex(r"[a-z_][a-z0-9_-]*")
_LAST = "update"
# Their bodies may hold no `<`: behind an open tag with a path it could begin the next command.
_BODILESS = frozenset({"get", "rm", "cp", "mv"})


class _Tool(NamedTuple):
    """A tool: its name, the schemas of its arguments, the names of those that it needs."""

    name: str
    properties: dict[str, Schema]
    required: frozenset[str]
    defs: dict[str, Schema]


@lru_cache(maxsize=32)
def grammar_gbnf(tools: str | None) -> str | None:
    """The GBNF of whole responses: commands, one a line, and `update` last where there is such a tool.

    `tools` is a JSON array of ``{"name", "schema"}``. Attributes stand in the order of the schema, the argument
    `body` between the tags. A tool whose name cannot be a tag is left out. NULL for NULL, and where no tool is left.
    """
    listed = _tools(tools)
    names = [tool.name for tool in listed]
    if not names:
        return None
    calls = [_rule(name) for name in names if name != _LAST]
    command = f"command ::= {' | '.join(calls)}"
    if _LAST not in names:
        rules = ['root ::= command ("\\n" command)*', command]
    elif calls:
        rules = [f'root ::= (command "\\n")* {_rule(_LAST)}', command]
    else:
        rules = [f"root ::= {_rule(_LAST)}"]
    return "\n".join([*rules, *(rule for tool in listed for rule in _call(tool)), *CHARACTERS])


@lru_cache(maxsize=32)
def grammar_json_schema(tools: str | None) -> str | None:
    """The JSON Schema of an array of calls ``{"name", "arguments"}`` of `tools`, given as for `grammar_gbnf`.

    NULL for NULL, and where no tool is left.
    """
    calls = [
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": [tool.name]},
                "arguments": {
                    "type": "object",
                    "properties": tool.properties,
                    "required": [name for name in tool.properties if name in tool.required],
                    "additionalProperties": False,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in _tools(tools)
    ]
    return to_json({"type": "array", "minItems": 1, "items": {"anyOf": calls}}) if calls else None


def _tools(tools: str | None) -> list[_Tool]:
    found: list[_Tool] = []
    try:
        for each in from_json(tools or "[]"):
            schema = arguments_schema(to_json(each.get("schema") or {}))
            if _NAME.fullmatch(each["name"]):
                found.append(
                    _Tool(
                        each["name"],
                        schema["properties"],
                        frozenset(schema.get("required", ())),
                        schema.get("$defs", {}),
                    )
                )
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValidationError(f'tools must be a JSON array of {{"name", "schema"}}: {error}') from error
    return found


def _rule(name: str) -> str:
    # Names of rules are letters, digits and dashes; the prefix keeps them apart from those of CHARACTERS.
    return "call-" + name.replace("_", "--")


def _call(tool: _Tool) -> list[str]:
    rule = _rule(tool.name)
    body = tool.properties.get("body")
    if tool.name == _LAST and body is not None and "anyOf" in body:
        return _answer(rule, body, tool.defs)
    attributes = [
        _attribute(name, schema, name in tool.required)
        for name, schema in tool.properties.items()
        if name != "body" and (_NAME.fullmatch(name) or name in tool.required)
    ]
    head = " ".join([literal(f"<{tool.name}"), *attributes])
    close = literal(f"</{tool.name}>")
    if body is None:
        return [f'{rule} ::= {head} "/>"']
    paired = f'">" {rule}-body {close}'
    ending = paired if "body" in tool.required else f'("/>" | {paired})'
    return [f"{rule} ::= {head} {ending}", *_body(tool.name, body, f"{rule}-body")]


def _answer(rule: str, body: Schema, defs: dict[str, Schema]) -> list[str]:
    """An update whose answer has a schema: with 200 it is JSON of that, else a text; see `answer_tool`."""
    close, end = literal(f"</{_LAST}>"), literal('">')
    done, other = literal(f'<{_LAST} status="200">'), literal(f'<{_LAST} status="')
    return [
        f'{rule} ::= {done} {rule}-json {close} | {other} ("102" | "422") {end} {rule}-text {close}',
        *json_rules(body["anyOf"][0], defs, f"{rule}-json"),
        *text_within(_LAST, f"{rule}-text"),
    ]


@lru_cache(maxsize=32)
def grammar_answer(schema: str | None) -> str | None:
    """The GBNF of a response that is nothing but an update with an answer of a JSON Schema; NULL for NULL."""
    if schema is None:
        return None
    body, defs = placed(from_json(schema))
    ends = (literal(f'<{_LAST} status="200">'), literal(f"</{_LAST}>"))
    return "\n".join([f"root ::= {ends[0]} answer {ends[1]}", *json_rules(body, defs, "answer")])


def _body(name: str, schema: Schema, rule: str) -> list[str]:
    if "enum" in schema:
        return [f"{rule} ::= {_choice(schema['enum'])}"]
    if name in _BODILESS:
        return [f"{rule} ::= words"]
    text = text_within(name, f"{rule}-text")
    if name != "set":
        return [f"{rule} ::= {rule}-text", *text]
    return [f"{rule} ::= {rule}-text | {rule}-edits", *text, *edits(f"{rule}-edits")]


def _attribute(name: str, schema: Schema, required: bool) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), None)
    if kind == "boolean" and not required:
        return f"({literal(f' {name}')})?"
    value = _choice(schema["enum"]) if "enum" in schema else _VALUES.get(kind, "value")
    given = literal(f' {name}="') + f" {value} " + literal('"')
    return given if required else f"({given})?"


_VALUES: dict[Any, str] = {"boolean": '("true" | "false")', "integer": "integer", "number": "number"}


def _choice(values: list[Any]) -> str:
    texts = [value if isinstance(value, str) else to_json(value) for value in values if value is not None]
    return "(" + " | ".join(map(literal, texts)) + ")"
