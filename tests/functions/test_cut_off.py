"""What is read in an answer that was cut off: what was closed before the cut, and which command was open there.

spec: @cut_off
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from fuzz.corpus import Case, cases

from engine.functions.markup.answer import response_parse

GET = '<get path="b.md"/>\n'


def commands(text: str, cut: int | None = 1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(response_parse(text, None, None, cut) or "")["commands"]
    return found


def told(text: str, cut: int | None = 1) -> list[tuple[str, bool]]:
    """The action of each command, and whether it was open at the cut."""
    return [(command["action"], command.get("truncated", False)) for command in commands(text, cut)]


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "get", "arguments": {"path": "a"}}, {"name": "sh", "arguments": {"command": "ls"}}',
        "[get(path='a'), sh(command='ls')",
    ],
)
def test_the_last_item_of_a_list_without_its_bracket_is_open_at_the_cut(text: str) -> None:
    assert told(text) == [("get", False), ("sh", True)]
    assert told(text, None) == [("get", False), ("sh", False)]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('<set path="config.py">\nA = 1\nB = 20\nC = ', "set"),
        ('<set path="config.py">\nA = 1\n</se', "set"),
        ('<set path="config.py">\nA = 1\n</set', "set"),
        ('<set path="a.md"><<NEW\nuse </set> and <sh>rm -rf build</sh> to', "set"),
        ('<set path="a.md">Use <sh>rm -rf build</sh>', "set"),
        ('<set path="a.md">Use\n<set path="c.md">x</set>\n<rm path="d.md"/>', "set"),
        ('<set path="a.md"><get path="d.md"/> reads', "set"),
        ('<set path="a.md">text</get> and <rm path="d.md"/>', "set"),
        ('<set path="a.md" body="half', "set"),
        ('<set path="a.md', "set"),
        ('<set path="a.md"', "set"),
        ("<set", "set"),
        ('<rm path="*">', "rm"),
        ('<sh command="find . -type f > out.txt && rm -rf', "sh"),
        ('<sh command="rm -rf "', "sh"),
        ("I run <sh>rm -rf build", "sh"),
        ("<sh>rm -rf /tmp/x", "sh"),
        ('<update status="200">All is', "update"),
        ("<think>Let me see, <rm path='a'/>", "think"),
        ('<tool_call>{"name":"set","arguments":{"path":"d","body":"Use <sh>rm -rf build</sh> to', "set"),
        ('<tool_call>{"name":"set","arguments":{"path":"d","body":"x"}', "set"),
        ('{"name":"set","arguments":{"path":"d","body":"Use <sh>rm -rf build</sh> to', "set"),
        ('<invoke name="set"><parameter name="path">d</parameter><parameter name="body">Use <sh>ls</sh>', "set"),
        ('<invoke name="set"><parameter name="path">d</parameter>', "set"),
        ("<function=rm>\n<parameter=path>\nsrc/", "rm"),
        ("<function=rm>\n<parameter=path>\nsrc\n</parameter>", "rm"),
        ('<|channel|>commentary to=functions.set <|message|>{"path":"d","body":"<sh>ls</sh>', "set"),
        ("<|tool_call>call:set{path:d,body:<escape>one <sh>ls</sh>", "set"),
        ('[TOOL_CALLS]set[ARGS]{"path":"d","body":"<sh>ls</sh>', "set"),
    ],
)
def test_the_command_that_was_open_is_marked_and_nothing_in_it_is_read(text: str, action: str) -> None:
    assert told(GET + text) == [("get", False), (action, True)]


def test_what_was_closed_before_the_cut_is_as_in_any_answer() -> None:
    whole = '<get path="a"/>\n<set path="b">text</set>\n<sh>ls</sh>\n{"name":"get","arguments":{"path":"c"}}\n'
    assert commands(whole + "Now I") == commands(whole + "Now I", 0)
    assert [action for action, _ in told(whole + "Now I")] == ["get", "set", "sh", "get"]


def test_of_a_list_of_calls_those_before_the_cut_are_done() -> None:
    text = '[{"name":"get","arguments":{"path":"a"}},{"name":"set","arguments":{"path":"b","body":"<sh>ls</sh>'
    assert told(text) == [("get", False), ("set", True)]


def test_the_open_command_has_its_path_and_no_body() -> None:
    (command,) = commands('<set path="a.py" tags="x">\nhalf')
    assert (command["path"], command["body"], command["attributes"]) == ("a.py", None, {"tags": "x"})
    assert command["source"] == '<set path="a.py" tags="x">\nhalf'


def test_thoughts_that_were_cut_off_are_reasoning() -> None:
    parsed = json.loads(response_parse("<think>half a thought", None, None, 1) or "")
    assert (parsed["reasoning"], parsed["text"]) == ("half a thought", "")


def test_a_forgotten_slash_before_another_tag_is_no_cut() -> None:
    assert told('<get path="a">\n<get path="b">\n<get path="c"/> and') == [("get", False)] * 3


def test_an_answer_that_ended_by_itself_is_healed() -> None:
    (command,) = commands('<set path="config.py">\nA = 1', 0)
    assert (command["body"], command.get("truncated")) == ("A = 1", None)
    assert commands('<set path="a">x', None) == commands('<set path="a">x', 0)


def test_an_example_that_calls_nothing_stays_text() -> None:
    parsed = json.loads(response_parse('It prints {"id": 1, "na', None, None, 1) or "")
    assert (parsed["commands"], parsed["text"]) == ([], 'It prints {"id": 1, "na')


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_prefix_of_an_answer_gives_no_command_that_the_answer_does_not(case: Case) -> None:
    meant = [without_source(command) for command in commands(case.answer, 0)]
    for end in range(_thoughts(case) + 1, len(case.answer)):
        read = [without_source(command) for command in commands(case.answer[:end]) if "truncated" not in command]
        assert read == meant[: len(read)], case.answer[max(end - 60, 0) : end]


def _thoughts(case: Case) -> int:
    """How far an answer is thoughts that the prompt opened, or a body that holds its own end: a prefix has no sign of it."""
    if any("stands behind it, so its body may hold" in warning for warning in case.warns):
        return case.answer.rfind("</")
    headers = {"<|end|>": "<|start|>assistant", "assistant": "assistantcommentary", "Here": "Here is my response:"}
    tokens = [warning.split()[1].rstrip(":") for warning in case.warns if warning.startswith("Unopened ")]
    ends = [headers.get(token, token) for token in tokens]
    return max((case.answer.rfind(end) + len(end) for end in ends), default=0)


def without_source(command: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in command.items() if key != "source"}


def test_a_quotation_that_is_open_at_the_cut_stays_text() -> None:
    assert told("Run `<sh>make</sh>") == []
    assert told("Run `<sh>make</sh>\n\n<get path='a'/>") == [("sh", False), ("get", False)]
