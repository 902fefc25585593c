"""What a terminal shows while the engine waits: the last lines of what is printed or written, and a spinner.

The lines are drawn over each other, and gone when the wait ends, so that nothing scrolls past.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from engine.display.draft import Draft

from .printing import visible
from .wrapping import wrapped

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

LAST_LINES = 5
_LONGEST = 2_000
"""Characters of a line that are kept; it is cut at the width of the terminal when it is drawn."""


class LastLines:
    """The last lines of an output that arrives in pieces, and how many there were."""

    def __init__(self) -> None:
        self.count = 0
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self._is_open = False

    def add(self, text: str) -> None:
        """Take the next piece; a line that a carriage return began anew is only its last form."""
        *whole, rest = text.split("\n")
        for line in whole:
            self._extend(line)
            self._is_open = False
        if rest:
            self._extend(rest)

    def lines(self) -> list[str]:
        """The last lines, as a person may read them."""
        return [visible(line.rstrip("\r").rpartition("\r")[2].expandtabs(4)) for line in self._lines]

    def _extend(self, piece: str) -> None:
        if self._is_open:
            self._lines[-1] = (self._lines[-1] + piece)[-_LONGEST:]
        else:
            self._lines.append(piece[-_LONGEST:])
            self.count += 1
        self._is_open = True


def draft_lines(draft: Draft, width: int) -> list[str]:
    """The last lines of a response that is being written, in lines of `width` cells."""
    text = draft.text()
    return wrapped(visible(text[-_LONGEST:]), width, "    ", "    ")[-LAST_LINES:] if text else []


class Area:
    """The lines at the bottom of the terminal. A text stands beside the spinner, lines above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.spinner import Spinner

        self._text = ""
        self._source: LastLines | Draft | None = None
        self._console = Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots")
        self._live: Live | None = None

    def show(self, text: str, source: LastLines | Draft | None = None) -> None:
        """Show from now on `text` and the last lines of `source`."""
        from rich.live import Live

        self._text, self._source = text, source
        if self._live is None:
            self._live = Live(
                console=self._console,
                get_renderable=self._drawn,
                transient=True,
                refresh_per_second=8,
                redirect_stdout=False,
            )
            self._live.start()

    def hide(self) -> None:
        """Take the lines off the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        width = self._console.width - 1
        match self._source:
            case LastLines() as output:
                lines = [f"    | {line}" for line in output.lines()]
            case Draft() as draft:
                lines = draft_lines(draft, width)
            case _:
                lines = []
        self._spinner.update(text=Text(self._text, no_wrap=True, overflow="ellipsis"))
        return Group(*(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines), self._spinner)
