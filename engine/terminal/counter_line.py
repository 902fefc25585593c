"""A line on stderr that counts, for work that goes through many runs or turns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .printing import visible


@contextmanager
def counter_line(verb: str) -> Iterator[Callable[[int, int, str], None]]:
    """Shows how many of how many are done and the name of the one at hand, in one line on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return

    def tell(done: int, of: int, name: str) -> None:
        sys.stderr.write(f"\r\x1b[K{verb} {min(done + 1, of)} of {of}{': ' + visible(name)[:60] if name else ''}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
