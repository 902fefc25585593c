"""Handles Ctrl-C while a run is driven."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.loop import Driver


class Interrupt:
    """A context manager in which the first Ctrl-C stops the driver and the second one ends the process."""

    def __init__(self) -> None:
        self._driver: Driver | None = None
        self._asking = False
        self._before: Any = None

    def take(self, driver: Driver) -> None:
        """Make Ctrl-C stop this driver."""
        self._driver = driver

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A context manager for a question to a person, in which Ctrl-C also raises `KeyboardInterrupt`."""
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    def __enter__(self) -> Interrupt:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:  # a process in the background ignores Ctrl-C
            signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _stop(self, _: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Not through sys.stderr: the signal may have come during a write to it.
        os.write(2, b"\nstopping; Ctrl-C again ends at once\n")
        if self._driver:
            self._driver.stop()
        if self._asking or not self._driver:
            raise KeyboardInterrupt
