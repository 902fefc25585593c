"""The last lines of what a command prints, put together from its pieces."""

from __future__ import annotations

from collections import deque

from engine.terminal.printing import visible

LAST_LINES = 5
_LONGEST = 2_000
"""Characters of a line that are kept."""


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


__all__ = ["LAST_LINES", "LastLines"]
