"""Counts in messages: a number with its noun, in the singular where there is one of it."""

from __future__ import annotations


def counted(count: float | None, thing: str | None, things: str | None = None) -> str | None:
    """A number with what it counts: '1 turn', '1,200 turns'. `things` is the plural where that is not `thing` with an s."""
    if count is None or thing is None:
        return None
    number = f"{count:,}" if isinstance(count, int) else f"{count:.10g}"
    return f"{number} {thing if count == 1 else things or thing + 's'}"
