"""One output channel of a process: decodes its bytes, passes the text on in batches, and stops at a limit."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable

OnOutput = Callable[[int, str], None]

BATCH_BYTES = 65_536
BATCH_SECONDS = 0.2


class Channel:
    """Channel `number` (1 stdout, 2 stderr). The first `room` bytes go to `on_output` as text, the rest is dropped.

    A batch is passed on after 0.2 s or 64 KB. `truncated` says whether bytes were dropped.
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
        """Take bytes that were read from the channel, at most 64 KB at a time."""
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
        """Pass on a batch that is 0.2 s old."""
        if self._batch and time.monotonic() - self._batch_began >= BATCH_SECONDS:
            self.flush()

    def finish(self) -> None:
        """Pass on the rest. Half a character at the end becomes U+FFFD, unless the limit cut it in half."""
        if not self.truncated:
            self._batch.append(self._decoder.decode(b"", True))
        self.flush()

    def flush(self) -> None:
        """Pass on the batch."""
        # SQLite's text functions stop at a NUL; no terminal shows one either.
        text = "".join(self._batch).replace("\0", "\ufffd")
        self._batch.clear()
        self._batch_bytes = 0
        if text:
            self._on_output(self.number, text)
