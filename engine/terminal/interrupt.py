"""Handles Ctrl-C, SIGTERM and SIGHUP while a run is driven.

spec: @interruption
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Protocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stoppable(Protocol):
    """What a signal stops: a driver, or commands that were kept."""

    def stop(self) -> None:
        """Have it end; called in a signal handler."""
        ...


class Interrupt:
    """A context manager in which the first Ctrl-C, SIGTERM or SIGHUP stops what it took, and the second
    one ends the process, unless it is another SIGHUP.

    `struck` is set by the first one, and `ends` as well where it was not Ctrl-C: the process is told to end.
    """

    def __init__(self) -> None:
        self.struck = False
        self.ends = False
        self._taken: Stoppable | None = None
        self._asking = False
        self._before: dict[signal.Signals, Any] = {}

    def take(self, taken: Stoppable) -> None:
        """Make the signals stop this."""
        self._taken = taken
        if self.struck:
            taken.stop()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A context manager for a question to a person, in which a signal also raises `KeyboardInterrupt`."""
        self._asking = True
        try:
            if self.struck:
                raise KeyboardInterrupt
            yield
        finally:
            self._asking = False

    def heeding(self, told: Callable[[Any], None]) -> Callable[[Any], None]:
        """`told`, which prints events. If the terminal is gone it stops what was taken; SIGHUP may come later."""

        def tell_or_stop(event: Any) -> None:
            try:
                told(event)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                self._before[signal.SIGHUP] = signal.SIG_IGN
                self._stop(signal.SIGHUP, None)

        return tell_or_stop

    def __enter__(self) -> Interrupt:
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # a process in the background ignores Ctrl-C, one under nohup SIGHUP
                self._before[number] = before
                signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _stop(self, came: int, _: FrameType | None) -> None:
        for number, before in self._before.items():
            if before is not signal.SIG_IGN:
                # of a terminal that is gone the system tells, and the shell once more
                again = number == came == signal.SIGHUP
                signal.signal(number, signal.SIG_IGN if again else signal.SIG_DFL)
        self.struck, self.ends = True, came != signal.SIGINT
        if self._taken:
            self._taken.stop()
        tell(1, b"")
        tell(2, b"\nstopping; Ctrl-C again ends at once\n")
        if self._asking:
            raise KeyboardInterrupt


def tell(descriptor: int, text: bytes) -> None:
    """Write to an output; where the terminal is gone, as with SIGHUP, or who reads the pipe, it leads nowhere from now on.

    Not through `sys`: the signal may have come during a write to it.
    """
    try:
        os.write(descriptor, text)
    except BlockingIOError:  # nobody reads it just now
        pass
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != descriptor:  # else it was closed
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
