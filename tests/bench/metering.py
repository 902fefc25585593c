"""Process CPU time of a driven run, the model's share taken out."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine


@dataclass
class Meter:
    """CPU seconds of the engine for each turn: from one call of the model to the next."""

    turns: list[float] = field(default_factory=list)
    last: float = 0.0

    @property
    def total_ms(self) -> float:
        """CPU of the whole run without the model, in milliseconds."""
        return 1000 * sum(self.turns)

    def mean_ms(self, first: int = 0, count: int | None = None) -> float:
        """Mean CPU milliseconds of `count` turns from the turn with index `first` on."""
        chosen = self.turns[first:] if count is None else self.turns[first : first + count]
        return 1000 * sum(chosen) / len(chosen)


@contextmanager
def model_excluded() -> Iterator[Meter]:
    """Meter the runs driven inside: the adapter is timed where it is called, and left out."""
    meter = Meter(last=time.process_time())
    caller: Any = _caller()
    complete = caller.complete_with_retry

    def timed(*arguments: Any, **options: Any) -> Any:
        meter.turns.append(time.process_time() - meter.last)
        try:
            return complete(*arguments, **options)
        finally:
            meter.last = time.process_time()

    caller.complete_with_retry = timed
    try:
        yield meter
    finally:
        caller.complete_with_retry = complete
        meter.turns.append(time.process_time() - meter.last)


def _caller() -> Any:
    """The module that calls the adapter; in older trees it was the loop."""
    try:
        return importlib.import_module("engine.driving.model_calls")
    except ModuleNotFoundError:
        return importlib.import_module("engine.driving.loop")


def opened(folder: str) -> engine.Database:
    """A new file in `folder` that waits for no disk: these measurements are of what the engine does."""
    db = engine.open(Path(folder) / "bench.db")
    db.execute("pragma synchronous = off")
    return db
