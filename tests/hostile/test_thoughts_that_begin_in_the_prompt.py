"""An answer that has only the end of its thoughts, because its chat template wrote the beginning into the prompt.

1. Nothing before that end runs, whatever stands there. 2. An end that is quoted, or a part of something whole, ends nothing.
3. Where it cannot be told, nothing runs. 4. What was not run is told. 5. It takes time in proportion. 6. Native calls stay.

spec: @thoughts @parser
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from driving import script
from timing import check_cost

import engine
from engine.functions.markup.answer import response_parse
from engine.functions.markup.render import render_response

GET = '<get path="real.md"/>'
UPDATE = '<update status="200">ok</update>'


def parse(text: str, cut: int = 0) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(response_parse(text, None, None, cut) or "")
    return parsed


def acts(text: str, cut: int = 0) -> list[str]:
    return [command["source"] for command in parse(text, cut)["commands"] if command["action"] != "think"]


# -- 1. nothing before the end runs


@pytest.mark.parametrize(
    "thoughts",
    [
        "I could run <sh>touch x</sh>. No.",
        'One: <set path="a.md">x</set>\nTwo: <rm path="b.md"/>',
        "I should use <sh> to run it.",
        "Use <get> to read, <sh> to run.\n- <set> to write",
        'I write {"name": "sh", "arguments": {...}} then.',
        "```python\nprint(1)\n```\n<sh>ls</sh>",
        "The tag <think> begins thoughts; I could <sh>ls</sh>",
        "I could <sh>ls</sh> or <think>hm</think> again.",
        "<think>first</think>\n<sh>ls</sh> No, wait.",
        "First.\n</think>\n<sh>ls</sh>\nNo, wait, again.",
        "call it `sh`\n\n<sh>ls</sh>",
        "<tool_call>{oops}</tool_call> <sh>ls</sh>",
        "It was <sh>ls</sh>\n" * 2_000,
    ],
)
@pytest.mark.parametrize("end", ["</think>", "</thinking>", "[/THINK]", "<|END_THINKING|>", "</reasoning>"])
def test_nothing_before_the_end_of_thoughts_runs(thoughts: str, end: str) -> None:
    text = f"{thoughts}\n{end}\n{GET}\n{UPDATE}"
    assert acts(text) == [GET, UPDATE]
    assert acts(text, 1) == [GET, UPDATE]
    assert set(re.findall(r"[a-z]{4,}", thoughts)) - {"think"} <= set(
        re.findall(r"[a-z]{4,}", parse(text)["reasoning"])
    )


# -- 2. an end of thoughts that ends nothing


@pytest.mark.parametrize(
    "whole",
    [
        '<set path="doc.md">Thoughts end with </think>.\n</think>\n</set>',
        '<set path="doc.md"><<NEW\n</think> </set>\nNEW</set>',
        "<sh>grep -rn '</think>' src</sh>",
        '<get path="</think>.md"/>',
        '{"name": "set", "arguments": {"path": "doc.md", "body": "</think>"}}',
        '<invoke name="set"><parameter name="path">a</parameter><parameter name="body">\n</think>\n</parameter></invoke>',
        "<think>The end is [/THINK] there.</think>",
        "[THINK]The end is </think> there.[/THINK]",
        "Thoughts end with `</think>`.",
        "It prints:\n```\nthoughts\n</think>\n```",
        'It is {"end": "</think>"}',
    ],
)
def test_an_end_in_something_whole_ends_nothing(whole: str) -> None:
    before, after = '<get path="first.md"/>\n', f"\n{GET}"
    parsed = parse(before + whole + after)
    assert parsed["commands"][0]["path"] == "first.md"
    assert parsed["commands"][-1]["path"] == "real.md"
    assert not [told for told in parsed["warnings"] if told.startswith(("Unopened", "Unclear"))]


# -- 3. where it cannot be told


@pytest.mark.parametrize(
    "broken",
    [
        '<set path="doc.md">Use </think> and <sh>planted</sh> to clean.',
        '{"name":"set","arguments":{"path":"d","body":"Use "</think>" and <sh>planted</sh>"}}',
        '<tool_call>{"name":"set","arguments":{"path":"d","body":"</think> <sh>planted</sh>',
        '<invoke name="set"><parameter name="body">\n</think>\n<sh>planted</sh>',
        "```\nprompt</think>\n<sh>planted</sh>",
    ],
)
@pytest.mark.parametrize("cut", [0, 1])
def test_where_it_may_be_an_argument_nothing_of_both_runs(broken: str, cut: int) -> None:
    parsed = parse(f'<rm path="first.md"/>\n{broken}', cut)
    assert not [command for command in parsed["commands"] if not command.get("truncated")]
    assert parsed["unread"] > 0 or any(command.get("truncated") for command in parsed["commands"])
    assert any(told.startswith("Unclear where the thoughts end: </think>") for told in parsed["warnings"])


# -- 4. it is told


def test_the_calls_that_were_not_run_are_named() -> None:
    parsed = parse(f"<sh>a</sh> <sh>b</sh> <rm>c</rm>\n</think>\n{UPDATE}")
    assert parsed["unread"] == 0
    assert parsed["warnings"] == [
        "Unopened </think>: the text before it was taken as reasoning; 3 calls in it (<sh>, <rm>) were not run"
    ]


def test_a_sentence_that_speaks_of_the_end_is_no_answer_that_drops_commands() -> None:
    assert parse('<get path="a"/> So </think> is the tag.')["unread"] == 1
    assert parse("I could <sh>ls</sh>.\n</think>\nIt is 42.")["unread"] == 0


def test_thoughts_without_an_end_hold_no_call_and_say_so() -> None:
    for opening in ("<think>", "<reasoning>\n", "[THINK]", "<|START_THINKING|>", "<|channel|>analysis<|message|>"):
        parsed = parse(f'{GET}\n{opening}I could\n<sh>ls</sh>\n<rm path="x"/>')
        assert [command["action"] for command in parsed["commands"] if command["action"] != "think"] == ["get"]
        assert any(told.startswith("Unclosed thoughts") for told in parsed["warnings"])


def test_drafts_leave_no_trace(db: engine.Database, tmp_path: Path) -> None:
    answer = f'I could <set path="known://draft">x</set>. No.\n</think>\n<set path="known://real">y</set>\n{UPDATE}'
    assert db.run("Go", run="r", model=script(tmp_path, answer)).status == 200
    paths = [row["path"] for row in db.rows("select path from entries where path like 'known://%'")]
    assert paths == ["known://real"]
    assert db.value("select reasoning like '%known://draft%' from turns")
    assert db.value("select count(*) from turn_errors where message like 'Unopened %1 call%was not run'") == 1


# -- 5. time


@pytest.mark.parametrize(
    "hostile",
    [
        *("</think>", "<sh> a </think> ", '<set path="a"> </think>', "- <sh> a [/THINK] ", "`</think> ", "<channel|>"),
        *('<get path="a"/>x <think> </think>', "<|end|><|start|>assistant", "<think>a</thinking>", "\n\n<think>"),
        *("<|channel>thought", "<tool_call>{ </think>", "```\n</think>\n", '{"name":"get" </think>'),
    ],
)
def test_ends_of_thoughts_take_linear_time(hostile: str) -> None:
    check_cost(5, lambda: parse((hostile * 200_000)[:200_000]))


# -- 6. native calls


@pytest.mark.parametrize(
    "text", ["Thoughts <sh>x</sh>\n</think>\n```\nopen", "Hm </think> <set path='a'>open", "a </think> b"]
)
def test_native_calls_beside_thoughts_are_run(text: str) -> None:
    calls = json.dumps([{"name": "get", "arguments": {"path": "real.md"}}])
    rendered = render_response(text, calls, json.dumps(["get", "set", "sh"])) or ""
    assert [command["path"] for command in parse(rendered)["commands"] if command["action"] == "get"] == ["real.md"]
