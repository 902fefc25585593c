"""What reading foreign tool calls promises.

1. each dialect becomes the same commands; 2. arguments find their places; 3. what is broken or unknown stays text and is
told; 4. data that merely looks similar is left alone; 5. nothing raises.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.markup.answer import response_parse
from engine.functions.markup.argument_names import ARGUMENT_NAMES

GET = '{"name": "get", "arguments": {"path": "a<b>.txt", "line": 3}}'


def parse(text: str) -> dict[str, Any]:
    result = response_parse(text, None, None)
    assert result is not None
    parsed: dict[str, Any] = json.loads(result)
    return parsed


def only(text: str) -> dict[str, Any]:
    """The one command of `text`, which leaves nothing else and needs no repair."""
    parsed = parse(text)
    assert (parsed["warnings"], parsed["text"], parsed["reasoning"]) == ([], "", "")
    (command,) = parsed["commands"]
    assert isinstance(command, dict)
    return command


# -- 1. dialects


@pytest.mark.parametrize(
    "text",
    [
        '<|tool_call>call:get{path:<|"|>a<b>.txt<|"|>,line:3}<tool_call|>',
        '<|tool_call>call:get{"path": "a<b>.txt", "line": 3}',
        "<|tool_call|>call:functions.get{path:'a<b>.txt', line: 3}<|/tool_call|>",
        f"<tool_call>\n{GET}\n</tool_call>",
        f"<tool_call>{GET}",
        f"<tool_calls>[{GET}]</tool_calls>",
        GET,
        f"[{GET}]",
        '{"name": "default_api.GET", "arguments": "{\\"path\\": \\"a<b>.txt\\", \\"line\\": 3}"}',
        '{"type": "function", "function": {"name": "get", "arguments": {"path": "a<b>.txt", "line": "3"}}}',
        '{"function_call": {"name": "get", "arguments": {"path": "a<b>.txt", "line": 3}}}',
        '{"tool_calls": [{"id": "c1", "function": {"name": "get", "arguments": {"path": "a<b>.txt", "line": 3}}}]}',
        '{"name": "get", "parameters": {"path": "a<b>.txt", "line": 3}}',
        '<tool_use><name>get</name><input>{"path": "a<b>.txt", "line": 3}</input></tool_use>',
        '<tool_use>\n<id>t1</id>\n<name>get</name>\n<input>\n{"path": "a<b>.txt", "line": 3}\n</input>\n</tool_use>',
        '<invoke name="get"><parameter name="path">a<b>.txt</parameter><parameter name="line">3</parameter></invoke>',
        "<x:function_calls><x:invoke name='get'>\n<x:parameter name='path'>a<b>.txt</x:parameter>\n"
        "<x:parameter name='line'>3</x:parameter>\n</x:invoke></x:function_calls>",
        "<tool_call>\n<function=get>\n<parameter=path>\na<b>.txt\n</parameter>\n<parameter=line>\n3\n</parameter>\n"
        "</function>\n</tool_call>",
        f"[TOOL_CALLS] [{GET}]",
        f"[TOOL_CALLS]{GET}</s>",
        '[TOOL_CALLS]get{"path": "a<b>.txt", "line": 3}',
        '[TOOL_CALLS]get[CALL_ID]x1[ARGS]{"path": "a<b>.txt", "line": 3}',
        '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"path": "a<b>.txt", "line": 3}<|call|>',
        '<|start|>assistant to=functions.get<|channel|>commentary<|message|>{"path":"a<b>.txt","line":3}',
        "<start_function_call>call:get{path:<escape>a<b>.txt<escape>,line:3}<end_function_call>",
    ],
)
def test_a_call_means_the_same_in_every_dialect(text: str) -> None:
    command = only(text)
    source = command.pop("source")
    assert source in text
    assert "a<b>.txt" in source
    assert command == {
        "action": "get",
        "path": "a<b>.txt",
        "destination": None,
        "body": None,
        "attributes": {"line": "3"},
    }


def test_several_calls_keep_their_order_and_the_prose_between() -> None:
    text = f'One\n{GET}\ntwo\n<rm path="b"/>\n[TOOL_CALLS] [{GET}, {GET}]'
    parsed = parse(text)
    assert [command["action"] for command in parsed["commands"]] == ["get", "rm", "get", "get"]
    assert parsed["text"] == "One\ntwo"
    assert parsed["warnings"] == []


def test_a_tag_inside_a_foreign_wrapper_is_a_tag() -> None:
    assert only('<tool_call>\n<get path="a"/>\n</tool_call>')["path"] == "a"


def test_channels_part_reasoning_from_text() -> None:
    parsed = parse(
        "<|channel|>analysis<|message|>I should not <get path='x'/>.<|end|><|start|>assistant<|channel|>commentary"
        "<|message|>Reading.<|end|><|start|>assistant<|channel|>final<|message|>Done: <rm path='b'/><|return|>"
    )
    assert parsed["reasoning"] == "I should not <get path='x'/>."
    assert parsed["text"] == "Reading.Done:"
    assert [command["action"] for command in parsed["commands"]] == ["rm"]
    assert parsed["warnings"] == []


def test_the_thought_channel_of_gemma_is_reasoning() -> None:
    parsed = parse("<|channel>thought\nHm.<channel|>Yes")
    assert (parsed["reasoning"], parsed["text"]) == ("Hm.", "Yes")


# -- 2. arguments


@pytest.mark.parametrize("key", ["body", "content", "text"])
def test_a_text_argument_is_the_body(key: str) -> None:
    command = only(
        json.dumps({"name": "set", "arguments": {"Path": "a", key: "x\n</set>", "visibility": "summarized"}})
    )
    assert (command["path"], command["body"]) == ("a", "x\n</set>")
    assert command["attributes"] == {"visibility": "summarized"}


@pytest.mark.parametrize("arguments", [{"path": "a", "to": "b"}, {"from": "a", "destination": "b"}])
def test_a_destination_has_two_names(arguments: dict[str, str]) -> None:
    command = only(json.dumps({"name": "mv", "arguments": arguments}))
    assert (command["path"], command["destination"], command["attributes"]) == ("a", "b", {})


@pytest.mark.parametrize(
    ("tool", "arguments", "body"),
    [
        ("sh", {"command": "ls"}, "ls"),
        ("sh", "ls -la", "ls -la"),
        ("search", {"query": "cats", "results": 5}, "cats"),
        ("ask_user", {"question": "Q?", "options": ["a", "b"]}, "Q?"),
        ("update", {"status": 200, "content": "Done"}, "Done"),
        ("think", {"text": "hm"}, "hm"),
    ],
)
def test_every_tool_can_be_called(tool: str, arguments: object, body: str) -> None:
    (command,) = parse(json.dumps({"name": tool, "arguments": arguments}))["commands"]
    assert (command["action"], command["body"]) == (tool, body)


def test_values_that_are_no_texts_are_written_out() -> None:
    arguments = {"path": "a", "manifest": True, "line": 2.5, "tags": ["x", "y"], "extra": {"k": [1]}, "none": None}
    assert only(json.dumps({"name": "get", "arguments": arguments}))["attributes"] == {
        "manifest": "true",
        "line": "2.5",
        "tags": "x,y",
        "extra": '{"k":[1]}',
    }
    options = json.dumps({"name": "ask_user", "arguments": {"question": "Q", "options": ["a", "b"]}})
    assert only(options)["attributes"]["options"] == "a;b"
    assert only('<|tool_call>call:get{path:a,tags:[<|"|>x<|"|>, y]}<tool_call|>')["attributes"] == {"tags": "x,y"}


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "body"),
    [("sh", {"what": "ls"}, None, "ls"), ("get", {"entry": "a"}, "a", None), ("update", {"verdict": "Hi"}, None, "Hi")],
)
def test_an_unknown_argument_fills_the_missing_target_and_is_told(
    tool: str, arguments: dict[str, str], path: str | None, body: str | None
) -> None:
    parsed = parse(json.dumps({"name": tool, "arguments": arguments}))
    (command,) = parsed["commands"]
    assert (command["path"], command["body"]) == (path, body)
    assert parsed["warnings"][0].startswith(f"<{tool}> has no argument")


def test_half_characters_are_replaced() -> None:
    body = only('{"name":"sh","arguments":{"command":"a\\ud800b"}}')["body"]
    assert body == "a\ufffdb"


@given(st.text())
def test_any_body_makes_the_round_trip_through_json(body: str) -> None:
    for ascii_only in (True, False):
        text = json.dumps({"name": "set", "arguments": {"path": "a", "body": body}}, ensure_ascii=ascii_only)
        assert only(text)["body"] == only(f"<tool_call>\n{text}\n</tool_call>")["body"] == body


@given(st.text().filter(lambda text: "<escape>" not in text))
def test_any_value_makes_the_round_trip_through_control_tokens(value: str) -> None:
    assert only(f"<start_function_call>call:sh{{command:<escape>{value}<escape>}}<end_function_call>")["body"] == value


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["bash", "-lc", "ls | wc"], "ls | wc"),
        (["/bin/sh", "-c", "ls"], "ls"),
        (["grep", "two words", "a.md"], "grep 'two words' a.md"),
        (["bash", "script.sh"], "bash script.sh"),
        ([], "[]"),
    ],
)
def test_a_command_that_is_a_list_is_a_line_of_shell(given: list[Any], line: str) -> None:
    for text in (
        json.dumps({"name": "sh", "arguments": {"command": given}}),
        f'<invoke name="sh"><parameter name="cmd">{json.dumps(given)}</parameter></invoke>',
        f"[sh(command={given!r})]",
    ):
        assert only(text)["body"] == line


def test_every_other_name_of_an_argument_is_read_in_tags_and_calls() -> None:
    for tool in ARGUMENT_NAMES.keys() - {"think", "skill"}:
        for argument, names in ARGUMENT_NAMES[tool].items():
            mine = only(json.dumps({"name": tool, "arguments": {argument: "x"}}))
            for name in names.split():
                call = only(json.dumps({"name": tool, "arguments": {name: "x"}}))
                tag = only(f'<{tool} {name}="x"/>')
                assert {**call, "source": ""} == {**tag, "source": ""} == {**mine, "source": ""}, (tool, name)


# -- 3. broken or unknown


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ('{"name":"get","arguments":{"path":"a}', "Malformed tool call"),
        ('<tool_call>{"name":"get","arguments":{"path":', "Malformed tool call '<tool_call>'"),
        ('<|tool_call>call:get{path:<|"|>a', "Malformed tool call '<|tool_call>'"),
        ("<tool_call>get the file", "Malformed tool call"),
        ("<tool_use><name>get</name><input>{oops}", "Malformed tool call '<tool_use>'"),
        ("<tool_use>get", "Malformed tool call"),
        ("<invoke name=get>", "Malformed tool call '<invoke'"),
        ('<invoke name="get"><parameter name="path">a', "Malformed tool call '<invoke'"),
        ("[TOOL_CALLS] soon", "Malformed tool call '[TOOL_CALLS]'"),
        ("[TOOL_CALLS]get{oops", "Malformed tool call '[TOOL_CALLS]'"),
        ("<|channel|>commentary to=functions.get<|message|>{oops", "Malformed tool call '<|channel|>'"),
        ('<tool_call>{"name":"frob","arguments":{}}', "Unknown tool 'frob'"),
        ('{"name":"frob","arguments":{}}', "Unknown tool 'frob'"),
        ('[TOOL_CALLS]frob{"a":1}', "Unknown tool 'frob'"),
    ],
)
def test_what_cannot_be_run_stays_text_and_is_told(text: str, warning: str) -> None:
    parsed = parse(text)
    assert parsed["commands"] == []
    assert parsed["text"] == text
    assert parsed["warnings"][0].startswith(warning), parsed["warnings"]


def test_a_broken_item_spares_the_ones_before_it() -> None:
    parsed = parse(f'[TOOL_CALLS] [{GET}, {{"name": "rm", "arguments": {{"path": broken')
    assert [command["action"] for command in parsed["commands"]] == ["get"]
    assert parsed["warnings"][0].startswith("Malformed tool call")


def test_a_call_behind_a_broken_one_still_runs() -> None:
    parsed = parse(f'<tool_call>{{"name": oops}}</tool_call>\n{GET}\n<sh>ls</sh>')
    assert [command["action"] for command in parsed["commands"]] == ["get", "sh"]


# -- 4. look-alikes


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "get", "age": 3}',
        '{"name": "Ann", "type": "person"}',
        '{"type": "object", "id": 4}',
        '[{"name": "Ann"}, {"name": "Bob"}]',
        'see {"function": "f"} and [{"id": 1}] and {braces} and [brackets]',
        "<s>gone</s> and f <| g |> h",
        "the word call:get{path} alone",
    ],
)
def test_data_is_left_alone(text: str) -> None:
    assert parse(text) == {"commands": [], "warnings": [], "unread": 0, "rare": False, "text": text, "reasoning": ""}


# -- 5. robustness


@given(st.data())
def test_no_mutation_of_a_foreign_call_raises(data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(
            [
                f"<tool_call>{GET}</tool_call>",
                f"[TOOL_CALLS] [{GET}, {GET}]",
                "<start_function_call>call:get{path:<escape>a<escape>,x:[1,<escape>b<escape>]}<end_function_call>",
                '<invoke name="get"><parameter name="path">a</parameter></invoke>',
                '<tool_use><name>get</name><input>{"path": "a"}</input></tool_use>',
                '<|channel|>analysis<|message|>x<|end|><|channel|>c to=functions.get<|message|>{"path":"a"}<|call|>',
            ]
        )
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    parsed = parse(text[:start] + data.draw(st.text("<>{}[]|\"':, ea\\", max_size=8)) + text[end:])
    assert not any("could not be parsed" in told for told in parsed["warnings"])


@pytest.mark.parametrize(
    "hostile",
    [
        '{"name":',
        '[{"name":',
        '{"function":',
        "<tool_call>[",
        '<tool_call>{"name":"get","arguments":{"a":[',
        "<|tool_call>call:get{a:[",
        "<|tool_call>call:get{a:<escape>",
        '<invoke name="get"><parameter name="a">',
        "<|channel|>analysis<|message|>",
        "<|channel>thought ",
        "[TOOL_CALLS]",
        "<tool_use><name>get</name><input>{",
        "[TOOL_CALLS][{",
        "<set path='a'>[TOOL_CALLS][{",
        "[get(path='a",
        "get(path=(",
        "get(a=1) ",
        "<tool_call>x</tool_call> ",
        "<tool_call>x ",
        '{"a": "b"} ',
        '{"a": ',
        "<parameter=x>",
        "<function name='get'>",
        "<tool name='x'>",
        "<|python_tag|>",
        "<\uff5ctool\u2581call\u2581begin\uff5c>x<\uff5ctool\u2581call\u2581end\uff5c>",
        "Action: get\nInput: ",
        ">>>get\n{",
        "get{a:",
        "[THINK]",
        "a.b.c.",
        "<a:b.c:tool ",
        '<|python_tag|>{"name":"get","parameters":{}}; ',
        '[TOOL_REQUEST]{"name":"get","arguments":{}}',
        "[get(path=[",
        "x [get(path='",
        '[get(path="""a ',
        "call:get{a:{",
        "\ncall:get{a:",
        "<get><path>",
        "<set><path>a</path><content>",
        '<invoke name="get"><a>',
        "<tool_call>get<arg_key>a</arg_key><arg_value>",
        "<|tool_arg:start|>a<|tool_arg:value|>",
        '<|open|>call tool="get"<|sep|>',
        '<|open|>argument key="a"<|sep|>',
        "]<]minimax[>[",
        "```tool_code\nget(a=1)\n",
        "Action: get\n",
        ">>>all\n",
    ],
)
def test_hostile_calls_take_linear_time(hostile: str) -> None:
    text = (hostile * 20_000)[:40_000]
    check_cost(3, lambda: parse(text))
    assert not any("could not be parsed" in told for told in parse(text)["warnings"])


def test_deep_wrappings_are_not_followed() -> None:
    depth = 300
    text = '{"function":' * depth + GET + "}" * depth
    assert not any("could not be parsed" in told for told in parse(text)["warnings"])


def test_broken_json_arguments_run_nothing() -> None:
    parsed = json.loads(response_parse('{"name":"sh","arguments":"{\\"body\\":\\"rm"}', None, None))
    assert [(command["action"], command["body"]) for command in parsed["commands"]] in ([], [("sh", None)])
    assert any("broken" in warning or "JSON" in warning for warning in parsed["warnings"])


def test_a_denied_manifest_is_none() -> None:
    parsed = json.loads(response_parse('<get path="a" manifest="false"/><get path="b" manifest="true"/>', None, None))
    assert [sorted(command["attributes"]) for command in parsed["commands"]] == [[], ["manifest"]]
