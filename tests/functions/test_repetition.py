"""A text that is stuck is told from one that is only regular.

spec: @stuck_responses
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.markup.repetition import COPIES, SPAN, text_repetition

WORDS = st.text(min_size=1, max_size=SPAN // COPIES)


@given(before=st.text(max_size=300), block=WORDS, over=st.integers(0, 700))
def test_a_block_that_fills_the_end_is_a_repetition(before: str, block: str, over: int) -> None:
    text = before + (block * (SPAN + over))[: SPAN + len(block) + over]
    kept = text_repetition(text)
    assert kept is not None
    assert kept <= len(before) + len(block)
    period = next(n for n in range(1, len(block) + 1) if (block * 2)[n : n + len(block)] == block)
    assert text[kept:] == text[kept - period : -period], "all behind the first copy repeats it"


@given(text=st.text(max_size=SPAN - 1))
def test_a_short_text_never_is_one(text: str) -> None:
    assert text_repetition(text) is None


@given(block=WORDS, end=st.text(st.characters(categories=["Ll"]), min_size=30, max_size=60))
def test_a_text_that_comes_to_an_end_of_its_own_is_not_stuck(block: str, end: str) -> None:
    text = (block * SPAN)[:SPAN] + "END " + end
    assert text_repetition(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"| {number} | 0 | 0 | 0 |" for number in range(300)),
        "\n".join(f"{number:04} INFO request served in {number % 7} ms" for number in range(200)),
        ("A paragraph of its own length. " * 20 + "\n") * 3,
        "".join(random.Random(1).choices("ab", k=9000)),
    ],
)
def test_what_is_only_regular_is_no_repetition(text: str) -> None:
    assert text_repetition(text) is None


def test_a_null_is_a_null() -> None:
    assert text_repetition(None) is None


@pytest.mark.parametrize("unit", ["a", "x" * 499 + "y", "".join(random.Random(2).choices("ab", k=2_000_000))])
def test_a_long_text_is_looked_at_in_no_time(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    check_cost(6, lambda: text_repetition(text))
