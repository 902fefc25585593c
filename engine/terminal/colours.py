"""Colours the lines of a diff at a terminal: what was added and removed, and within that the words of its language."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from .printing import paint

_LINE_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_SECONDS = 0.5
"""How long the words of one diff are coloured; the rest has the colours of its lines."""
_LINE_CHARACTERS = 400
_WORDS = {
    "Keyword": "magenta",
    "String": "yellow",
    "Comment": "bright_black",
    "Number": "blue",
    "Name.Function": "cyan",
}


def coloured(lines: Iterable[str], target: str | None) -> Iterator[str]:
    """The lines of a diff of the file `target`, coloured where stderr is a terminal and NO_COLOR is not set."""
    lexer = _lexer(target) if target and paint(" ", "red", stream=sys.stderr) != " " else None
    until = time.monotonic() + _SECONDS
    for line in lines:
        mark, text = line[:1], line[1:]
        colour = _LINE_COLOURS.get(mark)
        plain = line.startswith(("---", "+++", "@@")) or mark == "-"
        if lexer is None or plain or len(line) > _LINE_CHARACTERS or time.monotonic() > until:
            yield paint(line, colour, stream=sys.stderr)
        else:
            yield paint(mark, colour, stream=sys.stderr) + _words(lexer, text, colour)


def line_painted(text: str, mark: str) -> str:
    """A part of the line of a diff that begins with `mark`, in the colour of such lines."""
    return paint(text, _LINE_COLOURS.get(mark), stream=sys.stderr)


def _words(lexer: Any, text: str, colour: str | None) -> str:
    """A line with the words of its language coloured; what has no colour of its own has that of the line."""
    pieces = []
    for kind, value in lexer.get_tokens(text):
        name = str(kind).removeprefix("Token.")
        own = next((found for start, found in _WORDS.items() if start in name), colour)
        pieces.append(paint(value, own, stream=sys.stderr))
    return "".join(pieces)


def _lexer(target: str) -> Any:
    """The lexer for a file by its name; None where there is none, or pygments is not installed."""
    try:
        return importlib.import_module("pygments.lexers").get_lexer_for_filename(target, stripnl=False, ensurenl=False)
    except Exception:  # it is decoration: a lexer that cannot be made is none
        return None
