"""The lines at the bottom of a terminal that move: drawn over each other in one write, below what stays.

Nothing of it needs the cursor hidden or a mode switched on, so a process that is killed leaves a terminal as it was.

spec: @live_progress
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from .look import Line, Look
from .telling import Telling

_FASTEST_S = 1 / 15
_WHEEL_S, _SLOWEST_S = 1 / 8, 1 / 3
_SHARE = 12
"""Drawing takes at most this part of the time: after a frame that was slow the next one waits longer."""
BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""A terminal that knows these shows a frame at once."""


class Area:
    """Draws a `Telling` from a thread of its own, from the first event on until it is hidden or closed."""

    def __init__(self, stream: TextIO, telling: Telling, look: Callable[[], Look], rows: Callable[[], int]) -> None:
        self._stream = stream
        self._telling = telling
        self._look = look
        self._rows = rows
        self._lock = threading.Lock()
        self._wakes = threading.Condition(self._lock)
        self._shown: list[str] = []
        self._is_hidden = self._is_over = False
        self._is_stale = False
        self._thread: threading.Thread | None = None
        self._failed: OSError | None = None

    def tell(self, tell: Callable[[], None]) -> None:
        """Let `tell` change what is told; raises `OSError` where the terminal is gone."""
        with self._lock:
            if self._failed:
                raise self._failed
            tell()
            self._is_hidden, self._is_stale = False, True
            if self._thread is None:
                self._thread = threading.Thread(target=self._draw_on, name="engine screen", daemon=True)
                self._thread.start()
            self._wakes.notify()

    def hide(self) -> None:
        """Take the moving lines off the screen until something is told; what stays is printed before."""
        with self._lock:
            self._telling.rest()
            self._is_hidden = True
            self._draw([])

    def close(self) -> None:
        """Print what stays, and draw no more."""
        with self._lock:
            self._is_over = True
            self._telling.rest()
            self._draw([])
            self._wakes.notify()
        if self._thread is not None:
            self._thread.join()

    def _draw_on(self) -> None:
        spent = 0.0
        while True:
            with self._lock:
                if not self._is_stale and not self._is_over:
                    self._wakes.wait(_WHEEL_S if self._shown else None)
                if self._is_over:
                    return
                if not self._is_hidden:
                    began = time.thread_time()
                    self._is_stale = False
                    try:
                        self._draw(self._telling.moving(self._rows() - 1))
                    except OSError as error:
                        self._failed = error
                        return
                    spent = time.thread_time() - began
            time.sleep(min(max(_FASTEST_S, spent * _SHARE), _SLOWEST_S))

    def _draw(self, moving: list[Line]) -> None:
        look = self._look()
        stay = [look.ansi(line) for line in self._telling.take()]
        lines = [look.ansi(line) for line in moving]
        if not stay and lines == self._shown:
            return
        up = f"\x1b[{len(self._shown)}A" if self._shown else ""
        pieces = [f"\r{up}"]
        for place, line in enumerate([*stay, *lines]):
            same = not stay and place < len(self._shown) and self._shown[place] == line
            pieces.append("\n" if same else f"{line}\x1b[K\n")
        if len(stay) + len(lines) < len(self._shown):
            pieces.append("\x1b[J")
        self._shown = lines
        self._stream.write(f"{BEGIN}{''.join(pieces)}{END}")
        self._stream.flush()

    def __enter__(self) -> Area:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


__all__ = ["BEGIN", "END", "Area"]
