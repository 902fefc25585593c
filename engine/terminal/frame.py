"""A frame at the terminal that is drawn over itself. It switches no mode on, so a killed process leaves none behind."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TextIO

from .wrapping import fitting

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""A terminal that knows these shows a frame at once."""


class Frame:
    """Lines at the bottom of `stream`, each cut at its width, and no more than fit on the screen."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._height = 0

    @property
    def width(self) -> int:
        """The cells of a line that are drawn."""
        return shutil.get_terminal_size().columns - 1

    def draw(self, lines: Sequence[str]) -> None:
        """Draw lines, which hold nothing that controls a terminal, over those before."""
        height = shutil.get_terminal_size().lines
        room = max(height - 1, 1)
        shown = [line[: fitting(line, self.width)] if line else "" for line in lines[:room]]
        if len(lines) > room:
            shown[-1] = f"… {len(lines) - room + 1} more lines"[: self.width]
        up = f"\x1b[{min(self._height, room)}A" if self._height else ""
        self._stream.write(f"{_BEGIN}\r{up}{''.join(f'{line}{chr(27)}[K{chr(10)}' for line in shown)}\x1b[J{_END}")
        self._stream.flush()
        self._height = len(shown)


__all__ = ["Frame"]
