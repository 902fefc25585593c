"""A response that is stuck: it says the same over and over until it is cut off."""

from __future__ import annotations

from engine.functions import Function

SPAN = 2000
"""Characters that a repetition fills at least; below that it may be a table, a ruler, a list of zeros."""
COPIES = 4
"""Copies in a row that make a repetition, whatever their length."""
_ANCHOR = 24


def text_repetition(text: str | None) -> int | None:
    """How much of `text` is there before it begins to repeat itself, in characters, the first copy included; else NULL.

    A text repeats itself when its end is one block, of up to 500 characters, four times or more in a row, over at
    least 2,000 characters. What follows ends a repetition: a text that came to its own end is not stuck.
    """
    if text is None or len(text) < SPAN:
        return None
    tail = text[-SPAN:]
    anchor, last = tail[-_ANCHOR:], SPAN - _ANCHOR
    at = tail.rfind(anchor, 0, SPAN - 1)
    while at >= 0 and (period := last - at) <= SPAN // COPIES:
        if tail[period:] == tail[:-period]:
            return _end_of_first_copy(text, period)
        at = tail.rfind(anchor, 0, at + _ANCHOR - 1)
    return None


def _end_of_first_copy(text: str, period: int) -> int:
    """Where the first of the copies ends, found by going back from the end block by block, then character by character."""
    start = len(text) - SPAN
    while start >= period and text[start - period : start] == text[start : start + period]:
        start -= period
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start + period


FUNCTIONS = (Function("text_repetition", 1, text_repetition),)
