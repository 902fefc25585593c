"""The progress of a fleet: a live table at a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from engine.terminal.printing import one_line, say

if TYPE_CHECKING:
    from engine.fleet.manifest import Manifest, Row

_EVERY_S = 10.0
_LOOK_S = 0.5
_RUNNING = "select task, attempt, seconds from attempt_log where outcome = 'running' order by seconds desc limit 8"
_COUNTS = ("waiting", "running", "done", "failed", "cancelled", "retries", "workers")


@contextmanager
def live_table(manifest: Manifest) -> Iterator[Callable[[Row], None]]:
    """Yields what shows a row of `fleet_status`."""
    if sys.stderr.isatty():
        with _table(manifest) as show:
            yield show
        return
    last = time.monotonic()

    def tell(status: Row) -> None:
        nonlocal last
        if time.monotonic() - last > _EVERY_S:
            last = time.monotonic()
            say(line(status))

    yield tell


def line(status: Row) -> str:
    """The state of a fleet in a line."""
    counts = ", ".join(f"{status[name]:,} {name}" for name in _COUNTS[:5] if status[name])
    return f"{counts} of {status['tasks']:,}; ${status['cost']:.4f}, {status['tokens']:,} tokens"


@contextmanager
def _table(manifest: Manifest) -> Iterator[Callable[[Row], None]]:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    began, last = time.monotonic(), 0.0
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show(status: Row) -> None:
            nonlocal last
            if time.monotonic() - last < _LOOK_S and not status["is_over"]:
                return
            last = time.monotonic()
            table = Table(
                box=None, pad_edge=False, title=_title(status, time.monotonic() - began), title_justify="left"
            )
            for name in _COUNTS:
                table.add_column(name, justify="right")
            table.add_row(*(f"{status[name]:,}" for name in _COUNTS))
            running: list[dict[str, Any]] = manifest.rows(_RUNNING)
            tasks = Table(box=None, pad_edge=False)
            for name in ("running", "attempt", "seconds"):
                tasks.add_column(name)
            for row in running:
                tasks.add_row(one_line(row["task"]), str(row["attempt"]), f"{row['seconds']:.0f}")
            grid = Table.grid()
            grid.add_row(table)
            if running:
                grid.add_row(tasks)
            live.update(grid, refresh=True)

        yield show


def _title(status: Row, seconds: float) -> str:
    ended = status["done"] + status["failed"] + status["cancelled"]
    share = ended / status["tasks"] if status["tasks"] else 1.0
    ceiling = f" of ${status['max_cost']:g}" if status["max_cost"] is not None else ""
    return f"{ended:,} of {status['tasks']:,} tasks ({share:.0%}), ${status['cost']:.4f}{ceiling}, {seconds:.0f} s"
