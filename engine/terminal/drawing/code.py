"""Colours the lines of a program, also while it is still being written.

spec: @drawn_answers
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from engine.display.escapes import drawn

from .look import Line, Span

_STYLES = (
    ("Token.Keyword", "keyword"),
    ("Token.Literal.String.Doc", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Comment", "comment"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Decorator", "name"),
    ("Token.Generic.Deleted", "bad"),
    ("Token.Generic.Inserted", "good"),
    ("Token.Generic.Subheading", "info"),
)
_LONGEST = 2_000
"""Characters of a line whose words are coloured."""
_WHOLE = 150
"""Lines that are looked at from the beginning; in a longer text those behind a line that begins anew."""
_BACK = 60


class Code:
    """A text in the language of `name`, of which lines are drawn as they come."""

    def __init__(self, name: str) -> None:
        self._lexer = _lexer(name)
        self._lines: list[str] = []

    def add(self, lines: list[str]) -> list[Line]:
        """The next lines, drawn."""
        first = self._start()
        before = len(self._lines) - first
        self._lines += map(shown, lines)
        return _coloured(self._lexer, self._lines[first:])[before:]

    def ahead(self, lines: list[str]) -> list[Line]:
        """Lines that are not there for good yet, drawn."""
        return _coloured(self._lexer, [shown(line) for line in lines])

    def _start(self) -> int:
        """The line from which on the words are read: all of a short text."""
        count = len(self._lines)
        if count < _WHOLE:
            return 0
        for at in range(count - _BACK, max(count - 2 * _BACK, 0), -1):
            if self._lines[at][:1].strip() and not self._lines[at - 1].strip():
                return at
        return count - _BACK


def coloured(text: str, name: str) -> list[Line]:
    """The lines of a text in a language, which may be one that nobody knows."""
    return _coloured(_lexer(name), [shown(line) for line in text.split("\n")])


def _coloured(lexer: Any, lines: list[str]) -> list[Line]:
    if lexer is None or any(len(line) > _LONGEST for line in lines):
        return [[Span(line)] for line in lines]
    found: list[Line] = [[]]
    for kind, value in lexer.get_tokens("\n".join(lines)):
        style = _style(kind)
        first, *rest = value.split("\n")
        if first:
            found[-1].append(Span(first, style))
        for each in rest:
            found.append([Span(each, style)] if each else [])
    found += [[] for _ in range(len(lines) - len(found))]
    return found[: len(lines)]


def shown(text: str) -> str:
    """A text of others as a terminal may get it: no control, no tab."""
    return drawn(text).expandtabs(4) if not (text.isascii() and text.isprintable()) else text


@lru_cache(maxsize=256)
def _style(kind: Any) -> str:
    name = str(kind)
    return next((style for start, style in _STYLES if name.startswith(start)), "")


@lru_cache(maxsize=32)
def _lexer(name: str) -> Any:
    """The lexer for a language or a file by its name; None where there is none, or pygments is not installed."""
    word = name.strip().split(None, 1)[0] if name.strip() else ""
    if not word:
        return None
    try:
        lexers = importlib.import_module("pygments.lexers")
        given = {"stripnl": False, "ensurenl": False, "stripall": False}
        if "." in word:
            return lexers.get_lexer_for_filename(word, **given)
        return lexers.get_lexer_by_name(word.lower(), **given)
    except Exception:  # it is decoration: a lexer that cannot be made is none
        return None


__all__ = ["Code", "coloured", "shown"]
