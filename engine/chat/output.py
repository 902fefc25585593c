"""What is drawn goes to the terminal in one write a frame.

spec: @chat_screen
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prompt_toolkit.data_structures import Size
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from engine.terminal.drawing.area import BEGIN, END
from engine.terminal.drawing.look import Line
from engine.terminal.screen import screen

_STYLES = {
    "strong": "bold",
    "em": "italic",
    "under": "underline",
    "strike": "strike",
    "dim": "fg:ansibrightblack",
    "reverse": "reverse",
    "heading": "bold fg:ansicyan",
    "code": "fg:ansicyan",
    "link": "underline fg:ansiblue",
    "mark": "fg:ansicyan",
    "good": "fg:ansigreen",
    "bad": "fg:ansired",
    "warn": "fg:ansiyellow",
    "info": "fg:ansicyan",
    "keyword": "fg:ansimagenta",
    "string": "fg:ansiyellow",
    "comment": "fg:ansibrightblack",
    "number": "fg:ansiblue",
    "name": "fg:ansicyan",
}


class Held(Vt100_Output):
    """The terminal behind stderr. Inside of `frame` nothing is sent before its end."""

    _held = 0

    @classmethod
    def here(cls) -> Held:
        """The terminal of this process."""
        depth = ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None
        return cls(sys.stderr, _size, term=os.environ.get("TERM"), default_color_depth=depth, enable_cpr=False)

    def flush(self) -> None:
        """Send what was written."""
        if not self._held:
            super().flush()

    @contextmanager
    def frame(self) -> Iterator[None]:
        """What is written inside is sent at once, and shown at once by a terminal that knows how."""
        self._held += 1
        self.write_raw(BEGIN)
        try:
            yield
        finally:
            self.write_raw(END)
            self._held -= 1
            self.flush()


def _size() -> Size:
    columns, rows = screen() or (80, 24)
    return Size(rows=rows, columns=columns)


def fragments(lines: Iterable[Line]) -> StyleAndTextTuples:
    """Lines as the library takes them."""
    found: StyleAndTextTuples = []
    for number, line in enumerate(lines):
        if number:
            found.append(("", "\n"))
        for span in line:
            found.append((" ".join(_STYLES.get(name, "") for name in span.style.split()), span.text))
    return found


__all__ = ["Held", "fragments"]
