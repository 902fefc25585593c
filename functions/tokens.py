"""Token estimates: how much of a context window a text takes."""

from __future__ import annotations

import math

from engine.errors import ValidationError

DEFAULT_DIVISOR = 2
"""Characters per token until the provider's own counts are known."""


def token_count(text: str | None, divisor: float | None = None) -> int:
    """The estimated tokens of `text` at `divisor` characters per token (NULL: 2), rounded up; 0 for NULL.

    Raises `ValidationError` for a divisor that is not positive.
    """
    if divisor is not None and divisor <= 0 and text:
        raise ValidationError(f"token_count: divisor {divisor!r} is not positive; give characters per token")
    return token_estimate(len(text), divisor) if text else 0


def token_estimate(chars: int | None, divisor: float | None) -> int:
    """The estimated tokens of a text of `chars` characters, rounded up; 0 for NULL. A divisor of NULL or 0 is 2."""
    return math.ceil((chars or 0) / (divisor or DEFAULT_DIVISOR))
