"""Reports what a run does while it is driven. Without a listener nothing is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .database import Store
    from .models.protocol import ModelError


class Progress:
    """Passes events to `on_event`, each a dict with a `type` and these keys:

    `turn` (turn, context_tokens, ceiling, cost), `command` (turn, action, target, status, outcome, body, path), `error`
    (turn, status, outcome, body, path), `context` (turn, action condensed, status, body, path), `strike` (turn, body),
    `proposal` (turn, action, target, path), `delta` (text), `output` (channel, text),
    `retry` (message, failures, wait_s), `loop` (status, body: the reason). Keys without a value are
    left out.
    """

    def __init__(self, db: Store, run: str, on_event: Callable[[dict[str, Any]], None] | None) -> None:
        self._db = db
        self._run = run
        self._on_event = on_event
        self._last = db.value("select coalesce(max(id), 0) from events") if on_event else 0

    def tell(self) -> None:
        """Pass on the rows of `run_progress` that were committed since the last call."""
        if self._on_event is None:
            return
        for row in self._db.rows(
            "select * from run_progress where run = ? and event_id > ? order by event_id",
            (self._run, self._last),
        ):
            self._last = row.pop("event_id")
            row.pop("run")
            self._on_event({key: value for key, value in row.items() if value is not None})

    def delta(self, text: str) -> None:
        """Pass on a piece of the response while it arrives."""
        if self._on_event is not None:
            self._on_event({"type": "delta", "text": text})

    def output(self, channel: int, text: str) -> None:
        """Pass on what a process prints."""
        if self._on_event is not None:
            self._on_event({"type": "output", "channel": channel, "text": text})

    def retry(self, error: ModelError, failures: int, wait_s: float) -> None:
        """Pass on that the model failed and is asked again after `wait_s` seconds."""
        if self._on_event is not None:
            self._on_event({"type": "retry", "message": error.message, "failures": failures, "wait_s": wait_s})
