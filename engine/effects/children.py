"""What an effect needs of whoever drives the runs that it waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.system.waiting import Flag


class Children(Protocol):
    """Drives runs below a run; `stopping` is set once that is to end."""

    stopping: Flag

    def drive(self, runs: Sequence[str], at_rest: Callable[[str], Sequence[str] | None] | None = None, /) -> None:
        """Drive runs until each has ended or waits; `at_rest` gets the name of each then, and may return further ones."""
        ...
