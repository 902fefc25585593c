"""Reads rates of providers: `openai=500,200000` is 500 calls and 200,000 tokens a minute.

spec: @fleet_rates
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from engine.errors import ValidationError

_RATE = re.compile(r"([A-Za-z0-9_.-]+)=(\d{0,9})(?:,(\d{1,12}))?")


def read_rates(given: Iterable[str]) -> list[dict[str, Any]]:
    """Rows of `rates`; raises `ValidationError` (400) for a text that is no rate, and a key that comes twice."""
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        parts = _RATE.fullmatch(text)
        if parts is None or not (parts[2] or parts[3]) or 0 in (int(parts[2] or 1), int(parts[3] or 1)):
            raise ValidationError(
                f"--rate {text[:80]!r}: give KEY=REQUESTS, KEY=REQUESTS,TOKENS or KEY=,TOKENS a minute"
            )
        if parts[1] in found:
            raise ValidationError(f"--rate {parts[1]}: is given twice")
        requests, tokens = (int(part) if part else None for part in parts.groups()[1:])
        found[parts[1]] = {"key": parts[1], "requests": requests, "tokens": tokens}
    return [*found.values()]
