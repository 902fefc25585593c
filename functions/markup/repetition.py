"""Detects a response that is stuck: it repeats the same text until it is cut off."""

from __future__ import annotations

SPAN = 2000
"""Least length of a repetition in characters; a shorter one may be a table, a ruler, a list of zeros."""
COPIES = 4
"""Least number of copies in a row."""
_ANCHOR = 24


def text_repetition(text: str | None) -> int | None:
    """How many characters of `text` come before it repeats itself, the first copy included; NULL if it does not.

    A text repeats itself when it ends with four or more copies of a block of up to 500 characters, together at least
    2,000 characters. If other text follows them, the response is not stuck.
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
    """Where the first copy ends: goes back from the end block by block, then character by character."""
    start = len(text) - SPAN
    while start >= period and text[start - period : start] == text[start : start + period]:
        start -= period
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start + period
