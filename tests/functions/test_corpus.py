"""Every answer of the corpus gives the commands that a person reads in it.

spec: @corpus @parser
"""

from __future__ import annotations

import json

import pytest
from fuzz.corpus import Case, cases, shown

from engine.functions.markup.answer import response_parse


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_an_answer_gives_the_commands_that_it_means(case: Case) -> None:
    parsed = json.loads(response_parse(case.answer, None, None) or "")
    assert [shown(command) for command in parsed["commands"]] == case.commands
    unexpected = list(parsed["warnings"])
    for beginning in case.warns:
        told = next((warning for warning in unexpected if warning.startswith(beginning)), None)
        assert told is not None, f"no warning begins with {beginning!r}: {parsed['warnings']}"
        unexpected.remove(told)
    assert unexpected == []
    assert case.text is None or parsed["text"] == case.text
    assert case.reasoning is None or parsed["reasoning"] == case.reasoning


def test_the_corpus_has_five_hundred_answers_in_forty_families() -> None:
    assert len(cases()) >= 500
    assert len({case.name.split("/")[0] for case in cases()}) >= 40
