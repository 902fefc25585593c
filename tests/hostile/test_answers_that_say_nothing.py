"""An answer that says nothing ends no run, and one without end is cut off.

1. Frames of calls without a call, brackets, invisible characters. 2. Short texts that do say something. 3. A response above
its limit: from a model, as native calls, as thoughts, from an app. 4. Calls that are repeated without end are not all read.

spec: @healing @cut_off @limits
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from driving import DONE, begin, script

import engine
from engine.functions import limits
from engine.functions.markup import answer as markup
from engine.models import protocol, stuck

OPEN = ("[TOOL_CALLS]", "[TOOL_CALLS]\u200b", "<tool_call>{}")
"""Without their end: what stands behind them might be their text."""
NOTHING = (
    *OPEN,
    "[TOOL_CALLS][]",
    "[TOOL_REQUEST]{}[END_TOOL_REQUEST]",
    "<function_calls></function_calls>",
    "<function_calls>\n</function_calls>\n",
    "<tool_call>{}</tool_call>",
    "<tool_call></tool_call>",
    "<tool_calls>[]</tool_calls>",
    "<tool_call>\n{}\n</tool_call>\n<tool_call>\n{}\n</tool_call>",
    "<TOOLCALL>[]</TOOLCALL>",
    "<minimax:tool_call></minimax:tool_call>",
    "<functions/>",
    "<tools></tools>",
    "functools[]",
    "<|python_tag|>",
    "<|im_end|>",
    "<|tool_calls_section_begin|><|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
    "<|START_ACTION|>[]<|END_ACTION|>",
    "</tool_call>",
    "[]",
    "{}",
    '""',
    "```\n```",
    "```json\n[]\n```",
    "```json\n{}\n```",
    "~~~\n[{}]\n~~~",
    "```tool_call\n```",
    "\u200b",
    "\ufeff",
    "\u00a0\u2003\u3000",
    "\u2060\u00ad\u200d",
    "\u202e\u2066",
    "\u3164",
    "\x07",
    "\x00",
    "\u200b" * 10_000,
    "<think>Hm.</think>[]",
    "<think></think>\u200b",
)
SOMETHING = (
    "0",
    "no",
    ".",
    "...",
    "null",
    "👍",
    "—",
    "[x]",
    "`[]` is it",
    "<b></b>",
    "是",
    "```json\n[1]\n```",
    "e\u0301",
    "+1",
)


@pytest.mark.parametrize("text", [" ".join(text for text in NOTHING if text not in OPEN), *NOTHING])
def test_an_answer_that_says_nothing_has_no_text(text: str) -> None:
    parsed = json.loads(markup.response_parse(text, None, None) or "")
    assert parsed["text"] == ""
    assert {command["action"] for command in parsed["commands"]} <= {"think"}


@pytest.mark.parametrize("text", SOMETHING)
def test_a_short_answer_is_one(text: str) -> None:
    assert json.loads(markup.response_parse(text, None, None) or "")["text"] == text


def test_each_of_them_is_a_strike_and_the_next_answer_ends_the_run(db: engine.Database, tmp_path: Path) -> None:
    for number, text in enumerate(NOTHING):
        result = db.run("Go", run=f"r{number}", model=script(tmp_path, text, DONE))
        assert (result.status, result.answer, result.turns) == (200, "Done.", 2), text
    assert db.value("select count(*) from turns where sequence = 1 and streak <> 1") == 0
    told = "select count(*) from turn_errors where message like 'The response was %' and not soft"  # empty, or stuck
    assert db.value(told) == len(NOTHING)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> int:
    """The limit of responses, made short."""
    monkeypatch.setattr(protocol, "RESPONSE_CHARACTERS", 1_000)
    monkeypatch.setattr(stuck, "RESPONSE_CHARACTERS", 1_000)
    return 1_000


WORDS = " ".join(map(str, range(1_000)))
LONG: list[str | dict[str, Any]] = [
    WORDS,
    f'<set path="known://a">{WORDS}</set>',
    f'<set path="known://a">{WORDS}</set><update status="200">Done.</update>',
    {"text": "", "calls": [{"name": "set", "arguments": {"path": "known://a", "body": WORDS}}]},
    {"text": WORDS, "finish_reason": "stop"},
]


def test_a_response_above_its_limit_is_cut_off_and_told(db: engine.Database, tmp_path: Path, short: int) -> None:
    for number, answer in enumerate(LONG):
        result = db.run("Go", run=f"r{number}", model=script(tmp_path, answer, DONE))
        assert (result.status, result.turns) == (200, 2), answer
    kept = db.rows("select length(response) as length, finish_reason from turns where sequence = 1")
    assert kept == [{"length": short, "finish_reason": "length"}] * len(LONG)
    assert db.value("select count(*) from entries where path = 'known://a' and content_id is not null") == 0
    told = "select count(distinct turn_id) from turn_errors where message like '%cut off at the output limit%'"
    failed = "select count(*) from commands where outcome = 'truncated'"
    assert db.value(told) + db.value(failed) == len(LONG)


def test_thoughts_above_the_limit_are_cut(db: engine.Database, tmp_path: Path, short: int) -> None:
    result = db.run("Go", run="r", model=script(tmp_path, {"text": DONE, "reasoning": WORDS}))
    assert result.status == 200
    assert db.value("select length(reasoning) from turns") <= short


def test_an_app_stores_no_longer_response(db: engine.Database) -> None:
    begin(db, "demo")
    db.execute("insert into _begin_turn (run) values ('demo')")
    with pytest.raises((engine.EngineError, apsw.Error), match="longer than 1,000,000 characters"):
        db.execute("update turns set response = ?", ("x" * (limits.RESPONSE_CHARACTERS + 1),))
    db.execute("update turns set response = ?", ("x" * limits.RESPONSE_CHARACTERS,))


@pytest.mark.parametrize("call", ['<get path="a"/>', "call:get{path:b}\n", "[get(path='b')]\n"])
def test_calls_without_end_are_read_up_to_a_point(call: str) -> None:
    text = call * (limits.RESPONSE_CHARACTERS // len(call))
    parsed = json.loads(markup.response_parse(text, None, None) or "")
    again = json.loads(markup.response_parse(call * 2000 + "done", None, None) or "")
    assert len(parsed["commands"]) == len(again["commands"]) == markup.MAX_COMMANDS
    assert 0 < parsed["unread"] == again["unread"] < 2000 - markup.MAX_COMMANDS
    assert "were not read" in parsed["warnings"][-1]
