"""Reads the prompts of `engine chat` line by line from a pipe or a file, where there is no terminal.

spec: @chat_lines
"""

from __future__ import annotations

import sys

from engine.terminal.standard_input import MOST_BYTES


class Lines:
    """Reads a prompt or a command a line; a backslash at the end of a line goes on with the next one."""

    def __init__(self) -> None:
        self.count = 0
        """The prompts and commands so far."""

    def read(self) -> str:
        """The next line that says something. Raises `EOFError` at the end, `Overflow` (413) for a line that is too long."""
        while True:
            text = self._line()
            while text.endswith("\\"):
                text = f"{text[:-1]}\n{self._line(ends=True)}"
            if text.strip():
                self.count += 1
                return text

    @staticmethod
    def _line(*, ends: bool = False) -> str:
        from engine.errors import Overflow

        line = sys.stdin.readline(MOST_BYTES + 1)
        if len(line) > MOST_BYTES:
            raise Overflow(
                f"stdin: a line is longer than {MOST_BYTES:,} characters; save it to a file, and name the file"
            )
        if not line and not ends:
            raise EOFError
        return line.rstrip("\r\n")


__all__ = ["Lines"]
