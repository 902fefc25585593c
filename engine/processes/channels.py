"""An output channel of a process: passes on in batches what a terminal shows of it, and keeps its beginning and its end."""

from __future__ import annotations

import codecs
import time
from collections import deque
from collections.abc import Callable

from engine.functions.counts import counted
from engine.functions.terminals import Terminal

OnOutput = Callable[[int, str], None]
OnBytes = Callable[[int, bytes], None]

BATCH_BYTES = 65_536
BATCH_SECONDS = 0.2
_WINDOW_BYTES = 262_144
_WINDOW_SECONDS = 1.0
_PARTIAL_SECONDS = 1.0
"""How old a line is that is passed on before its end."""
_REDRAWN_SECONDS = 10.0
"""How often a line that is redrawn for hours is passed on."""
_MOST_CONTINUED = 3
"""Bytes of a character of UTF-8 behind its first one."""


class Channel:
    """Channel `number` (1 stdout, 2 stderr). `on_output` gets what a terminal shows of it: the first half of `room` bytes
    while it comes, and the last half when the channel ends; between the two stands a line that says how many were left out.

    A batch is passed on after 0.2 s or 64 KB, a line without its end after 1 s, and one that is redrawn when it ends. With
    `follows`, for a channel that may go on for hours, the latest part is passed on each second, up to 256 KB of it, and what
    is redrawn each 10 s. `on_bytes` gets every byte as it came. `left_out` counts the bytes that were left out.
    """

    def __init__(
        self, number: int, room: int, on_output: OnOutput, *, on_bytes: OnBytes | None = None, follows: bool = False
    ) -> None:
        self.number = number
        self.left_out = 0
        self._room = room - room // 2
        self._late_room = min(room // 2, _WINDOW_BYTES) if follows else room // 2
        self._follows = follows
        self._on_output = on_output
        self._on_bytes = on_bytes
        self._reader = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = Terminal()
        self._held_since = 0.0
        self._partial_since = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._batch: list[str] = []
        self._batch_bytes = 0
        self._batch_began = 0.0
        self._late: deque[bytes] = deque()
        self._late_bytes = 0
        self._late_began = 0.0
        self._skipped = 0

    def feed(self, data: bytes) -> None:
        """Take bytes that were read from the channel, at most 64 KB at a time."""
        if self._on_bytes is not None:
            self._on_bytes(self.number, data)
        was_holding = self._terminal.is_holding
        self._take(self._terminal.feed(self._reader.decode(data)))
        if not was_holding:
            self._held_since = self._partial_since = time.monotonic()

    def flush_if_due(self) -> None:
        """Pass on a batch that is 0.2 s old, what the terminal holds, and the latest part, if they are due."""
        now = time.monotonic()
        if self._terminal.is_holding:
            self._take_held(now)
        if self._batch and now - self._batch_began >= BATCH_SECONDS:
            self.flush()
        if self._follows and self._late and now - self._late_began >= _WINDOW_SECONDS:
            self._flush_late()

    def finish(self) -> None:
        """Pass on the rest. Half a character at the end becomes U+FFFD."""
        self._take(self._terminal.feed(self._reader.decode(b"", True)) + self._terminal.finish())
        self._flush_late()
        self._batch.append(self._decoder.decode(b"", True))
        self.flush()

    def flush(self) -> None:
        """Pass on the batch."""
        text = "".join(self._batch)
        self._batch.clear()
        self._batch_bytes = 0
        for start in range(0, len(text), BATCH_BYTES):
            self._on_output(self.number, text[start : start + BATCH_BYTES])

    def _take_held(self, now: float) -> None:
        """Take of what may still be redrawn what is due."""
        if self._follows and now - self._held_since >= _REDRAWN_SECONDS:
            self._held_since = self._partial_since = now
            self._take(self._terminal.snapshot())
        elif now - self._partial_since >= _PARTIAL_SECONDS:
            self._partial_since = now
            self._take(self._terminal.partial())

    def _take(self, text: str) -> None:
        """Take a text that is settled, into the batch or the latest part."""
        data = text.encode()
        for start in range(0, len(data), BATCH_BYTES):
            self._take_piece(data[start : start + BATCH_BYTES])

    def _take_piece(self, data: bytes) -> None:
        early, late = data[: self._room], data[self._room :]
        self._room -= len(early)
        if early:
            if self._batch_bytes + len(early) > BATCH_BYTES:
                self.flush()
            if not self._batch:
                self._batch_began = time.monotonic()
            self._batch.append(self._decoder.decode(early))
            self._batch_bytes += len(early)
        if late:
            self._keep_late(late)

    def _keep_late(self, data: bytes) -> None:
        """Keep the latest bytes behind the first half, and count those that make room for them."""
        if not self._late:
            self._late_began = time.monotonic()
        self._late.append(data)
        self._late_bytes += len(data)
        while self._late and self._late_bytes - len(self._late[0]) >= self._late_room:
            gone = len(self._late.popleft())
            self._late_bytes -= gone
            self._skipped += gone

    def _flush_late(self) -> None:
        data = b"".join(self._late)
        self._late.clear()
        self._late_bytes = 0
        kept = data[-self._late_room :] if self._late_room else b""
        self._skipped += len(data) - len(kept)
        if self._skipped:
            # what was begun of a character before the gap, and what is left of one behind it
            self._batch.append(self._decoder.decode(b"", True))
            self._decoder.reset()
            kept, broken = _from_character(kept)
            self._skipped += broken
            self._batch.append(f"\n[… {counted(self._skipped, 'byte')} left out …]\n")
            self.left_out += self._skipped
            self._skipped = 0
        self._batch.append(self._decoder.decode(kept))
        self.flush()


def _from_character(data: bytes) -> tuple[bytes, int]:
    """`data` from its first whole character of UTF-8 on, and how many bytes stood before that."""
    for start in range(min(len(data), _MOST_CONTINUED)):
        if data[start] & 0xC0 != 0x80:
            return data[start:], start
    return data, 0
