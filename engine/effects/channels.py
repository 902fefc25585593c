"""The text of one output channel of a process: decoded as it comes, passed on in batches, cut at a limit."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable

OnOutput = Callable[[int, str], None]

BATCH_BYTES = 65_536
BATCH_SECONDS = 0.2


class Channel:
    """Channel `number` (1 stdout, 2 stderr); the first `room` bytes are passed on to `on_output` as text.

    A batch is passed on after 0.2 s or 64 KB. `truncated` says that bytes were dropped.
    """

    def __init__(self, number: int, room: int, on_output: OnOutput) -> None:
        self.number = number
        self.truncated = False
        self._room = room
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._batch: list[str] = []
        self._batch_bytes = 0
        self._batch_began = 0.0

    def feed(self, data: bytes) -> None:
        """Take in what was read, at most 64 KB of it at a time."""
        kept = data[: self._room]
        self._room -= len(kept)
        self.truncated = self.truncated or len(kept) < len(data)
        if self._batch_bytes + len(kept) > BATCH_BYTES:
            self.flush()
        if not self._batch:
            self._batch_began = time.monotonic()
        self._batch.append(self._decoder.decode(kept))
        self._batch_bytes += len(kept)

    def flush_if_due(self) -> None:
        """Pass on a batch that has waited long enough."""
        if self._batch and time.monotonic() - self._batch_began >= BATCH_SECONDS:
            self.flush()

    def finish(self) -> None:
        """Pass on the rest; half a character is shown as such, unless it was our own cut that halved it."""
        if not self.truncated:
            self._batch.append(self._decoder.decode(b"", True))
        self.flush()

    def flush(self) -> None:
        """Pass on what has been gathered."""
        # SQLite's text functions stop at a NUL; no terminal shows one either.
        text = "".join(self._batch).replace("\0", "\ufffd")
        self._batch.clear()
        self._batch_bytes = 0
        if text:
            self._on_output(self.number, text)
