"""How lines are drawn on this terminal: its width, colours, characters and links, and the styles that a line can have.

A line is a list of spans; a span is a text, the names of its styles, and where it leads to as a link.

spec: @drawn_answers
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, TextIO

from engine.terminal.wrapping import cells


class Span(NamedTuple):
    """A part of a line: `style` has names of `STYLES` with blanks between, `link` an address or nothing."""

    text: str
    style: str = ""
    link: str = ""


Line = list[Span]

STYLES = {
    "strong": "1",
    "em": "3",
    "under": "4",
    "strike": "9",
    "dim": "2",
    "reverse": "7",
    "heading": "1;36",
    "code": "36",
    "link": "4;34",
    "mark": "36",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "info": "36",
    "keyword": "35",
    "string": "33",
    "comment": "90",
    "number": "34",
    "name": "36",
}
"""What a terminal is told for each style (SGR)."""
_WITHOUT_COLOUR = {"strong": "1", "em": "3", "under": "4", "strike": "9", "reverse": "7", "heading": "1", "link": "4"}
"""What is left of them where a person wants no colours."""

_MARKS = {
    "bullet": ("•", "*"),
    "rule": ("─", "-"),
    "side": ("│", "|"),
    "cross": ("┼", "+"),
    "done": ("✓", "x"),
    "open": ("○", "o"),
    "doing": ("◐", ">"),
    "dot": ("●", "*"),
    "thought": ("✻", "~"),
    "full": ("█", "#"),
    "empty": ("░", "."),
    "prompt": ("›", ">"),
    "more": ("…", "..."),
    "between": (" · ", " - "),
    "checked": ("☑", "[x]"),
    "unchecked": ("☐", "[ ]"),
}


@dataclass(frozen=True)
class Look:
    """What this terminal can: `width` cells a line, colours, characters beyond ASCII, links (OSC 8)."""

    width: int = 80
    colour: bool = True
    unicode: bool = True
    links: bool = False
    plain: bool = False
    """No attribute at all, as for TERM=dumb."""

    def mark(self, name: str) -> str:
        """A sign of `_MARKS` that this terminal can show."""
        wide, narrow = _MARKS[name]
        return wide if self.unicode else narrow

    def wide(self, width: int) -> Look:
        """The same terminal with lines of `width` cells."""
        return replace(self, width=max(width, 1))

    def ansi(self, line: Iterable[Span]) -> str:
        """A line as a terminal is told it."""
        return "".join(self._painted(span) for span in line)

    def _painted(self, span: Span) -> str:
        text = span.text if self.unicode else span.text.encode("ascii", "backslashreplace").decode()
        codes = "" if self.plain else sgr(span.style, self.colour)
        text = f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
        return f"\x1b]8;;{span.link}\x1b\\{text}\x1b]8;;\x1b\\" if span.link and self.links else text


def look_of(stream: TextIO, width: int) -> Look:
    """What the terminal behind `stream` can, as TERM, NO_COLOR and its encoding say."""
    term = os.environ.get("TERM", "")
    plain = term == "dumb" or not term
    encoding = (stream.encoding or "").lower().replace("-", "")
    return Look(
        width,
        colour=not (plain or os.environ.get("NO_COLOR")),
        unicode=encoding in ("utf8", "utf16", "utf32"),
        links=not plain and term != "linux",
        plain=plain,
    )


@lru_cache(maxsize=512)
def sgr(style: str, colour: bool) -> str:
    """The numbers of a style for a terminal."""
    codes = STYLES if colour else _WITHOUT_COLOUR
    return ";".join(codes[name] for name in style.split() if name in codes)


def text_of(line: Iterable[Span]) -> str:
    """What a line says, without styles."""
    return "".join(span.text for span in line)


def width_of(line: Iterable[Span]) -> int:
    """The cells that a line takes."""
    return sum(cells(span.text) for span in line)


__all__ = ["STYLES", "Line", "Look", "Span", "look_of", "sgr", "text_of", "width_of"]
