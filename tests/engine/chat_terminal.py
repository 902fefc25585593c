"""A chat on a pseudo terminal that is emulated, so that tests read what a person would see."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyte
from terminal import Terminal

PATIENCE_S = 60
READY = "\x1b[?2004h"
"""What the terminal is sent when a line can be typed."""


class Chat(Terminal):
    """`engine chat` on a terminal of a size; stdout apart."""

    def __init__(self, folder: Path, *arguments: str, columns: int = 120, rows: int = 40, **extra: str) -> None:
        self.columns, self.rows = columns, rows
        self._screen = pyte.HistoryScreen(columns, rows, history=20_000)
        self._stream = pyte.Stream(self._screen)
        self._fed = 0
        self._seen: Counter[str] = Counter()
        super().__init__(folder, "chat", *arguments, COLUMNS="", **extra)

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def shown(self) -> list[str]:
        """The lines that have scrolled past, and those of the screen."""
        self._stream.feed(self.said[self._fed :])
        self._fed = len(self.said)
        past = ["".join(line[at].data for at in range(self.columns)).rstrip() for line in self._screen.history.top]
        return [*past, *(line.rstrip() for line in self._screen.display)]

    def text(self) -> str:
        """What is shown, as one text."""
        return "\n".join(self.shown())

    def until(self, holds: Callable[[str], object], what: str) -> None:
        """Wait until what is shown fulfils something."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds(self.text()):
            assert time.monotonic() < deadline, f"{what}; shown is:\n{self.text()}"
            if select.select([self.descriptor], [], [], 0.1)[0]:
                self.said += self._decoded.decode(os.read(self.descriptor, 65_536))

    def expect(self, text: str) -> None:
        """Wait until `text` is shown once more than when it was expected before; a mode is looked for in what is sent."""
        if text.startswith("\x1b"):
            super().expect(text)
            return
        self.until(lambda shown: shown.count(text) > self._seen[text], f"{text!r} is not shown")
        self._seen[text] += 1

    def begin(self) -> None:
        """Wait until a line can be typed."""
        if READY not in self.said:
            super().expect(READY)

    def enter(self, typed: str, told: str = "") -> None:
        """Type a line, and wait for what is told; a line that begins with a slash is shown before."""
        self.begin()
        self.type(f"{typed}\r")
        if told:
            self.expect(told)

    def type_all(self, text: str) -> None:
        """Type a long text while what is drawn is read."""
        left = text.encode()
        while left:
            left = left[os.write(self.descriptor, left[:1_000]) :]
            self.listen()

    def enter_now(self, told: str) -> None:
        """Press Enter, and wait for what is told."""
        self.type("\r")
        self.expect(told)

    def leave(self) -> str:
        """Leave; what was printed on stdout."""
        self.begin()
        self.type("\x04")
        code, printed = self.end()
        assert code == 0, self.text()
        return printed


OpenChat = Callable[..., Chat]
