"""Token estimates: how much of a context window a text takes."""

from __future__ import annotations

import math

from engine.errors import ValidationError
from engine.functions import Function

DEFAULT_DIVISOR = 2
"""Characters that make one token until the provider's own counts are known."""


def token_count(text: str | None, divisor: float | None = None) -> int:
    """The estimated tokens of `text`: code points divided by `divisor` (2 when NULL), rounded up; 0 for NULL.

    Raises `ValidationError` for a divisor that is not positive.
    """
    if not text:
        return 0
    rate = DEFAULT_DIVISOR if divisor is None else divisor
    if rate <= 0:
        raise ValidationError(f"token_count: divisor {rate!r} is not positive; give characters per token")
    return math.ceil(len(text) / rate)


FUNCTIONS = (Function("token_count", -1, token_count),)
