"""Token estimates: how much of a context window a text takes."""

from __future__ import annotations

import math

from engine.errors import ValidationError
from engine.functions import Function

DEFAULT_DIVISOR = 2
"""Characters that make one token until the provider's own counts are known."""


def token_count(text: str | None, divisor: float | None = None) -> int:
    """The estimated tokens of `text`, of which `divisor` characters (2 when NULL) make one; rounded up, 0 for NULL.

    Raises `ValidationError` for a divisor that is not positive.
    """
    if divisor is not None and divisor <= 0 and text:
        raise ValidationError(f"token_count: divisor {divisor!r} is not positive; give characters per token")
    return token_estimate(len(text), divisor) if text else 0


def token_estimate(chars: int | None, divisor: float | None) -> int:
    """`token_count` of a text of `chars` characters; 0 for NULL. A divisor of 0 counts as NULL."""
    return math.ceil((chars or 0) / (divisor or DEFAULT_DIVISOR))


FUNCTIONS = (
    Function("token_count", -1, token_count),
    Function("token_estimate", 2, token_estimate),
)
