"""A clock that stands still until a test moves it.

spec: @testing_clock
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)


class FrozenClock:
    """The time of a file, as `engine.open(path, clock=FrozenClock())` takes it: it stands still until `tick` or `set`.

    It dates what is recorded, and it is what limits in seconds and the age of cached answers are measured by. Leases,
    timeouts of processes and waits for models go by the real time.
    """

    def __init__(self, at: datetime = _START) -> None:
        self.set(at)

    @property
    def now(self) -> datetime:
        """The time in UTC."""
        return self._now

    def set(self, at: datetime) -> None:
        """Set the time. Raises `ValueError` for one without a time zone."""
        if at.tzinfo is None:
            raise ValueError(f"{at!r} has no time zone; write for example datetime(2026, 1, 1, tzinfo=UTC)")
        self._now = at.astimezone(UTC)

    def tick(self, seconds: float) -> None:
        """Move the time on."""
        self._now += timedelta(seconds=seconds)

    def __call__(self) -> int:
        """The Unix time in milliseconds."""
        return (self._now - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
