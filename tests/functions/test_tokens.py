"""What token estimates promise: 1. NULL and '' are 0, 2. rounding up, 3. code points, 4. bad divisors."""

from __future__ import annotations

import pytest

from engine.errors import ValidationError
from engine.functions.tokens import token_count


@pytest.mark.parametrize("text", [None, ""])
def test_nothing_costs_nothing(text: str | None) -> None:
    assert token_count(text) == 0
    assert token_count(text, 3.5) == 0


def test_a_started_token_counts_whole() -> None:
    assert token_count("abc") == 2
    assert token_count("abcd", 4) == 1
    assert token_count("abcde", 4) == 2
    assert token_count("abc", 2.5) == 2


def test_an_emoji_is_one_character() -> None:
    assert token_count("😀😀", 2) == 1


@pytest.mark.parametrize("divisor", [0, -1])
def test_a_divisor_that_is_not_positive_is_refused(divisor: float) -> None:
    with pytest.raises(ValidationError, match="token_count"):
        token_count("abc", divisor)
