"""A short run of the fuzzer, of both families, and that its judgement would notice what it looks for.

spec: @fuzz @parser
"""

from __future__ import annotations

import json
import time
from random import Random
from typing import Any

import pytest

from . import oracle
from .__main__ import batch
from .oracle import judge, strict_calls
from .planted import CHILDREN, NOTATIONS, OWN, PLANTED, Plant, early_ends, fault, plants, ran


def test_damaged_answers_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # that the time promised is kept is seen by `make fuzz`, on a machine that does nothing else
    monkeypatch.setattr(oracle, "SECONDS_PER_BYTE", 10 * oracle.SECONDS_PER_BYTE)
    tally = batch(seed=0, first=0, count=3_000)
    assert tally.findings == []
    assert tally.calls > 600


def test_no_planted_command_runs() -> None:
    sample = Random(1).sample(plants(), 300)
    assert [found for plant in sample if (found := fault(plant))] == []


def test_every_notation_is_read() -> None:
    for notation in NOTATIONS + CHILDREN + OWN:
        parsed = json.loads(oracle.response_parse(notation.replace("§", "x"), None, None) or "")
        assert parsed["commands"] or parsed["reasoning"] or notation.startswith("<tool>set<"), notation
        assert parsed["commands"] == [] or parsed["warnings"] == [] or parsed["unread"] == 0, notation


def test_a_planted_command_that_runs_is_noticed() -> None:
    assert ran('<get path="a"/><sh>echo planted-4711</sh>', 5) == "<sh>echo planted-4711</sh>"
    assert ran('<set path="a"><sh>echo planted-4711</sh></set>', 5) is None


def test_a_strict_parser_finds_the_calls_at_the_top() -> None:
    text = (
        'Hi é <get path="a"/><p><rm path="x"/></p><set path="b">1 <get path="c"/></set> {"x": "<rm path=\'y\'/>"} <sh>'
    )
    assert strict_calls(text) == [("get", 5), ("set", 41)]
    assert strict_calls('`<get path="a"/>`<get path="b"/>') == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda parsed: parsed["commands"].pop(), "lost the <rm>"),
        (lambda parsed: parsed["commands"][0].update(source="<get/>"), "is no slice"),
        (lambda parsed: parsed["warnings"].append("The answer could not be parsed (x)"), "could not be parsed"),
        (lambda parsed: parsed["commands"].clear(), "lost the <get>"),
    ],
)
def test_what_went_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch, change: Any, problem: str) -> None:
    text = 'One <get path="a"/> two <rm path="b"/>'
    assert judge(text).problem is None
    parsed = json.loads(oracle.response_parse(text, None, None) or "")
    change(parsed)
    monkeypatch.setattr(oracle, "response_parse", lambda *_: json.dumps(parsed))
    assert problem in (judge(text).problem or "")


def test_time_grows_with_the_length_for_every_notation() -> None:
    """Four times the text takes less than twelve times as long; the shorter one is long enough to be measured."""
    for notation in NOTATIONS + CHILDREN + OWN:
        for opener in (notation.split("§")[0], notation.replace("§", "x")):
            short, long = ((opener * size)[: 12 * size] for size in (400, 1_600))
            costs = [(_cost(short), _cost(long))]
            while costs[-1][1] > 12 * max(costs[-1][0], 0.001):  # once more, for a pause of the machine is no fault
                costs.append((_cost(short), _cost(long)))
                assert len(costs) < 10, (opener, costs)


@pytest.mark.parametrize("space", [" ", "\n"])
def test_white_space_behind_a_call_is_read_once(space: str) -> None:
    """A search that tries each beginning of the space takes a thousand times as long."""
    text = '<tool_call>{"name":"get","arguments":{}}' + space * 20_000
    assert _cost(text + "x}") < 1
    assert _cost(text + '",') < 1


def _cost(text: str) -> float:
    began = time.thread_time()
    oracle.response_parse(text, None, None)
    return time.thread_time() - began


@pytest.mark.parametrize("opening", ["<tool_call>set\n", "<tool_calls><tool_call>set<tool_sep>\n"])
@pytest.mark.parametrize("between", [" ", "\n", "\n</tool_calls>\n", "<|im_end|>\n"])
def test_what_stands_behind_a_value_that_ended_early_is_no_call_of_its_own(opening: str, between: str) -> None:
    """Found by plants of the seed 77: the answer is cut off before the real end of the value."""
    before = f"{opening}<arg_key>path</arg_key>\n<arg_value>d.md</arg_value>\n<arg_key>body</arg_key>\n"
    before += f"<arg_value>Use</arg_value>{between}"
    for planted in PLANTED:
        assert fault(Plant(before + planted, len(before))) is None, planted


def test_every_notation_is_ended_early() -> None:
    """Each notation that ends in more than one sign is planted behind the signs that do not end the call."""
    ended = list(early_ends(Random(1)))
    assert {plant.text.split("Use ")[0] for plant in ended} >= {
        each.split("\u00a7")[0] for each in NOTATIONS[:6] + CHILDREN
    }
    assert len(ended) > 5_000
