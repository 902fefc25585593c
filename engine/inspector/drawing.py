"""Draws a page: what its queries have found, laid out by its template.

Templates escape each text; a text of a model, a file or a person also goes through `seen`, `markdown` or a diff.

spec: @inspector @inspector_texts
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.display.escapes import drawn
from engine.functions.counts import counted

from . import charts
from .differences import as_lines
from .markdown import as_markdown

if TYPE_CHECKING:
    from jinja2 import Environment

    from .places import Places

MOST = 20_000
"""A longer text is cut on a page; the page says how much is missing."""


def draw(name: str, places: Places, found: Mapping[str, Any]) -> str:
    """The page `name` as HTML."""

    def page(name: str, /, **asked: object) -> str | None:
        return places.page(name, {key: str(value) for key, value in asked.items() if value not in (None, "")})

    template = _environment().get_template(f"{name or 'home'}.html.j2")
    return template.render(**found, page=page, asset=places.asset, is_static=places.is_static, page_name=name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # escaped whatever the name of the template
    environment = Environment(
        loader=PackageLoader("engine.templates", "inspector"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "seen": _seen, "markdown": as_markdown, "lines": as_lines, "number": _number, "money": _money,
        "percent": _percent, "seconds": _seconds, "line": _line, "tone": _tone, "counted": counted, "digits": _digits,
    }  # fmt: skip
    environment.globals |= {"charts": charts, "most": MOST}
    return environment


def _seen(text: object, most: int = MOST) -> str:
    told = "" if text is None else str(text)
    cut = "" if len(told) <= most else f"\n… {len(told) - most:,} more characters"
    return drawn(told[:most]) + cut


def _line(text: object, most: int = 160) -> str:
    """The text as one line, cut where it is long."""
    told = " ".join(("" if text is None else str(text)[: most * 4]).split())
    return drawn(told if len(told) <= most else told[: most - 1] + "…")


def _number(value: float | None) -> str:
    """A count in few characters: 950, 12.3k, 4.1M."""
    if value is None:
        return "–"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}" if abs(value) < size * 1000 else f"{value / size:.0f}{unit}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.2f}"


def _digits(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _money(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "$0" if value == 0 else f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.0f}%"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(int(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _tone(word: str | None) -> str:
    """The colour of a status: good, busy, waits, bad or calm."""
    tones = {
        "done": "good", "nothing to do": "good", "running": "busy", "queued": "calm", "waiting": "waits",
        "completed": "good", "ready": "busy", "accept": "good", "reject": "bad", "resolved": "good",
        "pass": "good", "aborted": "calm", "pending": "calm", "skipped": "calm", "proposed": "waits",
    }  # fmt: skip
    return "calm" if word is None else tones.get(word, "bad")
