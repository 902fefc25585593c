"""Ctrl-C while a run is driven."""

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
    """While it is entered, the first Ctrl-C stops the driver cleanly and the second ends the process."""

    def __init__(self) -> None:
        self._driver: Driver | None = None
        self._asking = False
        self._before: Any = None

    def take(self, driver: Driver) -> None:
        """Stop this driver."""
        self._driver = driver

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While a person is asked, Ctrl-C also breaks the waiting off, with `KeyboardInterrupt`."""
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    def __enter__(self) -> Interrupt:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:  # started in the background: not ours to change
            signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _stop(self, _: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # The streams of Python may be in the middle of a write of their own.
        os.write(2, b"\nstopping; Ctrl-C again ends at once\n")
        if self._driver:
            self._driver.stop()
        if self._asking or not self._driver:
            raise KeyboardInterrupt
