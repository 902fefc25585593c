"""Reads times and spans that people type: 90m, 2h, 30d, 4w, 2026-03-01, '2026-03-01 14:30'."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import typer

_SPAN = re.compile(r"(\d{1,6})\s*(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_RELATIVE = 12 * 3_600
"""Seconds from which on a date says more than a span."""
_FORMS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")


def span(text: str) -> int:
    """The seconds of a span such as 90m or 30d; raises a usage error for anything else."""
    if found := _SPAN.fullmatch(text.strip()):
        return int(found[1]) * _SECONDS[found[2]]
    raise typer.BadParameter(f"{text!r} is not a time span; write a number and s, m, h, d or w, such as 2h or 30d")


def moment(text: str) -> str:
    """A time in UTC as views have it, of a span before now or a date; raises a usage error for anything else."""
    if _SPAN.fullmatch(text.strip()):
        return (datetime.now(UTC) - timedelta(seconds=span(text))).strftime("%Y-%m-%d %H:%M:%S")
    for form in _FORMS:
        try:
            return datetime.strptime(text.strip().removesuffix("Z"), form).strftime("%Y-%m-%d %H:%M:%S")
        except ValueError:
            continue
    raise typer.BadParameter(f"{text!r} is not a time; write 2h, 7d, 2026-03-01 or '2026-03-01 14:30' (UTC)")


def local(text: str, *, utc: bool = False) -> str:
    """A time in UTC as views have it, for people: '3 min ago' on the same day, else in local time; with `utc` as it is."""
    if utc:
        return text
    then = datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - then).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3_600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < _RELATIVE:
        return f"{seconds // 3_600:.0f} h ago"
    return then.astimezone().strftime("%Y-%m-%d %H:%M")


def clock(text: str, *, utc: bool = False) -> str:
    """A time in UTC as views have it, to the same part of a second in local time; with `utc` as it is."""
    if utc:
        return text
    then = datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return f"{then.astimezone():%Y-%m-%d %H:%M:%S}{text[19:]}"


__all__ = ["clock", "local", "moment", "span"]
