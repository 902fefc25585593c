"""What writing calls as markup promises.

1. whatever a call holds is read back as it was, without a warning; 2. nothing around it changes that; 3. what markup cannot
say is said otherwise and told.

spec: @native_tools
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.markup.answer import response_parse
from engine.functions.markup.calls import command_of_arguments
from engine.functions.markup.grammar import DEFAULT_TOOLS
from engine.functions.markup.render import render_command, render_response

TOOLS = json.dumps(DEFAULT_TOOLS)
HOSTILE = (
    *(
        "</set>",
        "</SET >",
        "<set path='b'>",
        "<<EOF",
        "<<SEARCH\n",
        "\nSEARCH",
        "EOF",
        "</sh>",
        '<get path="x"/>',
        "</get>",
    ),
    *(
        "```\n",
        "`",
        "~~~\n",
        "<tool_call>",
        "</think>",
        "<think>",
        "&lt;",
        "&",
        "\r",
        "\r\n",
        "\n",
        " ",
        '"',
        "'",
        "<",
        "/>",
    ),
    *("<|x|>", "<x:set>", "</update>", "\x00", "\u2028", "é", '{"name":"get"}', "[TOOL_CALLS]", "<!-- ", "]]>"),
)
BODY = st.one_of(st.text(), st.lists(st.sampled_from(HOSTILE), max_size=12).map("".join))
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "set": st.fixed_dictionaries(
        {"path": BODY, "body": BODY}, optional={"tags": BODY, "visibility": st.sampled_from(["archived", None])}
    ),
    "get": st.fixed_dictionaries(
        {"path": BODY}, optional={"body": BODY, "line": st.integers(), "manifest": st.booleans()}
    ),
    "rm": st.fixed_dictionaries({"path": BODY}, optional={"manifest": st.booleans(), "body": BODY}),
    "cp": st.fixed_dictionaries({"path": BODY, "to": BODY}),
    "mv": st.fixed_dictionaries({"path": BODY}, optional={"to": BODY}),
    "sh": st.one_of(st.fixed_dictionaries({"body": BODY}), st.fixed_dictionaries({"command": BODY})),
    "env": st.fixed_dictionaries({"body": BODY}),
    "search": st.fixed_dictionaries({"body": BODY}, optional={"results": st.integers()}),
    "think": st.fixed_dictionaries({"body": BODY}),
    "update": st.fixed_dictionaries({"status": st.integers(), "body": BODY}),
    "ask_user": st.fixed_dictionaries({"question": BODY}, optional={"options": BODY}),
}
CALL = st.sampled_from(sorted(ARGUMENTS)).flatmap(lambda name: st.tuples(st.just(name), ARGUMENTS[name]))


def parse(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(response_parse(text, TOOLS, 1000) or "")
    return parsed


def meant(name: str, arguments: dict[str, Any]) -> tuple[Any, ...]:
    """What the call asks for; an attribute that the body repeats says nothing."""
    return essence(command_of_arguments(name, json.loads(json.dumps(arguments)), "").as_row())


def essence(command: dict[str, Any]) -> tuple[Any, ...]:
    rest = {k: v for k, v in command["attributes"].items() if k not in ("command", "question", "query")}
    return command["action"], command["path"], command["destination"], command["body"], rest


def written(name: str, arguments: dict[str, Any]) -> str:
    return render_command(name, json.dumps(arguments)) or ""


@given(CALL)
def test_any_call_is_read_back_as_it_was(call: tuple[str, dict[str, Any]]) -> None:
    parsed = parse(written(*call))
    assert (parsed["warnings"], parsed["text"]) == ([], "")
    assert [essence(command) for command in parsed["commands"]] == [meant(*call)]


@given(st.lists(CALL, min_size=1, max_size=5), BODY)
def test_calls_are_read_back_whatever_text_they_came_with(calls: list[tuple[str, dict[str, Any]]], text: str) -> None:
    listed = json.dumps([{"name": name, "arguments": arguments} for name, arguments in calls])
    answer = render_response(text, listed, TOOLS) or ""
    wanted = [meant(*call) for call in calls]
    read = [essence(command) for command in parse(answer)["commands"]]
    assert wanted in (read[: len(wanted)], read[len(read) - len(wanted) :])


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("get", {"path": "notes.md"}, '<get path="notes.md"/>'),
        ("GET", {"path": "a", "manifest": True, "line": None}, '<get path="a" manifest="true"/>'),
        ("get", {"path": "a", "manifest": False, "line": 0}, '<get path="a" line="0"/>'),
        ("set", {"path": "a", "body": "one"}, '<set path="a">one</set>'),
        ("set", {"path": "a", "body": "one\ntwo\n"}, '<set path="a">\none\ntwo\n\n</set>'),
        (
            "set",
            {"path": "a", "body": "<<NEW\nx </set>\nNEW"},
            '<set path="a" body="&lt;&lt;NEW\nx &lt;/set&gt;\nNEW"/>',
        ),
        ("set", {"path": "a", "body": "<<SEARCH\nx\nSEARCH"}, '<set path="a">\n<<SEARCH\nx\nSEARCH\n</set>'),
        ("set", {"path": "a", "body": "cat <<EOF"}, '<set path="a" body="cat &lt;&lt;EOF"/>'),
        ("sh", {"command": "ls"}, "<sh>ls</sh>"),
        ("sh", {"body": "a < b && c > d"}, "<sh>a < b && c > d</sh>"),
        ("update", {"status": 200, "body": "Done."}, '<update status="200">Done.</update>'),
        ("ask_user", {"question": "Which?", "options": ["a", "b"]}, '<ask_user options="a;b">Which?</ask_user>'),
    ],
)
def test_a_call_is_written_as_a_person_would(name: str, arguments: dict[str, Any], text: str) -> None:
    assert written(name, arguments) == text


@pytest.mark.parametrize(
    ("name", "arguments", "warning", "run"),
    [
        ("frob", {"x": '<get path="a"/>'}, "Unknown tool 'frob'", []),
        ("sh", '{"body": "rm -rf <get path=\\"a\\"/>', "Malformed tool call", []),
        ("update", {"verdict": "yes"}, "<update> has no argument 'verdict'", ["update"]),
    ],
)
def test_what_markup_cannot_say_is_told(name: str, arguments: Any, warning: str, run: list[str]) -> None:
    parsed = parse(render_response("", json.dumps([{"name": name, "arguments": arguments}]), TOOLS) or "")
    assert any(told.startswith(warning) for told in parsed["warnings"]), parsed["warnings"]
    assert [command["action"] for command in parsed["commands"]] == run


def test_an_odd_name_of_an_argument_is_kept() -> None:
    parsed = parse(written("get", {"path": "a", 'odd "name" <': "x"}))
    assert parsed["warnings"] == []
    assert parsed["commands"][0]["attributes"] == {'odd "name" <': "x"}


def test_calls_follow_the_text_unless_it_would_swallow_them() -> None:
    calls = '[{"name":"get","arguments":{"path":"a"}}]'
    assert render_response("I look.\n", calls, TOOLS) == 'I look.\n\n<get path="a"/>'
    assert render_response("", calls, TOOLS) == '<get path="a"/>'
    assert render_response("so:\n```py\nx", calls, TOOLS) == '<get path="a"/>\n\nso:\n```py\nx'
    assert render_response("text", "[]", TOOLS) == "text"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ('<set path="a" body="x &lt;/set&gt;\ny"/>', "x </set>\ny"),
        ('<set path="a" body="x">y</set>', "y"),
        ('<update status="200" body="Done."/>', "Done."),
    ],
)
def test_a_body_may_be_an_attribute(text: str, body: str) -> None:
    assert [command["body"] for command in parse(text)["commands"]] == [body]


def test_a_flag_that_is_false_is_not_set() -> None:
    call = '{"name":"get","arguments":{"path":"a","manifest":false,"line":0}}'
    assert parse(call)["commands"][0]["attributes"] == {"line": "0"}


def test_null_is_null() -> None:
    assert render_command(None, "{}") is render_command("get", None) is render_response(None, "[]", "[]") is None


@given(st.text(), st.text())
def test_nothing_raises(name: str, arguments: str) -> None:
    assert render_command(name, arguments) is not None


def test_a_long_hostile_body_is_read_back() -> None:
    body = "".join(random.Random(1).choices(["<<EOF\n", "EOF\n", "x < y\n", "</se"], k=20_000))
    assert [command["body"] for command in parse(written("set", {"path": "a", "body": body}))["commands"]] == [body]
