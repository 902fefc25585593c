"""Shows how far a download is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .printing import say


@contextmanager
def progress_of_download() -> Iterator[Callable[[int, int], None]]:
    """Shows the progress of a download: a bar on a terminal, else a line for each tenth."""
    if not sys.stderr.isatty():
        yield _Tenths().tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    with Progress(BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("fetching", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Tenths:
    """Prints a line whenever another tenth of a download has arrived."""

    def __init__(self) -> None:
        self._told = -1

    def tell(self, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if tenth > self._told:
            self._told = tenth
            say(f"fetched {tenth * 10} % of {total / 1e6:.0f} MB")
