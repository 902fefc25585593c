"""Listens to a response while it arrives, and cuts it off where it repeats itself or is too long.

spec: @stuck_responses
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.functions.limits import RESPONSE_CHARACTERS
from engine.functions.markup.repetition import text_repetition
from engine.models.protocol import CallPiece, ModelError, Thought
from engine.system.waiting import Flag

OnRetry = Callable[[ModelError, int, float], None]

_STEP = 500
"""The text is checked again after this many more characters."""


class Listener(Flag):
    """The event that cancels a call: it is set where `cancelled` is, or where the text is cut off."""

    def __init__(self, cancelled: threading.Event | None = None, on_delta: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self._cancelled = cancelled or threading.Event()
        self._on_delta = on_delta
        self.finish_reason: str | None = None
        """Why this listener cut the text off: ``repetition`` or ``length``; None where it did not."""
        self._pieces: list[str] = []
        self._heard = self._unseen = 0

    def starting_over(self, on_retry: OnRetry) -> OnRetry:
        """`on_retry` with one step before it: the listener forgets its text, because the call is made again."""

        def retry(error: ModelError, failures: int, wait_s: float) -> None:
            self._pieces, self._heard, self._unseen = [], 0, 0
            on_retry(error, failures, wait_s)

        return retry

    def hear(self, text: str) -> None:
        """Take a piece of the response and pass it on; a thought, and a piece of a call, are passed on only."""
        if isinstance(text, Thought | CallPiece):
            if self._on_delta is not None:
                self._on_delta(text)
            return
        self._pieces.append(text)
        self._heard += len(text)
        self._unseen += len(text)
        if self._on_delta is not None:
            self._on_delta(text)
        if self._unseen >= _STEP:
            self._unseen = 0
            if text_repetition(self.text) is not None:
                self._cut_off("repetition")
        if self._heard > RESPONSE_CHARACTERS:
            self._cut_off("length")

    def is_set(self) -> bool:
        """Whether the call is to be cut off."""
        return super().is_set() or self._cancelled.is_set()

    @property
    def text(self) -> str:
        """The text heard so far, up to its limit."""
        return "".join(self._pieces)[:RESPONSE_CHARACTERS]

    def _cut_off(self, finish_reason: str) -> None:
        self.finish_reason = self.finish_reason or finish_reason
        self.set()
