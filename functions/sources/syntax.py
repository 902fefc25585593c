"""Parses sources by tree-sitter, within limits of steps, reads and time."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

_CHUNK = 4096
_MAX_READS = 2000
_LEAST_STEPS = 500
_BYTES_A_STEP = 50
"""A parser reports each hundred of its operations. For usual source that is a step for 90 bytes and more; a grammar that
tries many readings of a text at once takes seconds and gigabytes for it, and is given up."""


@cache
def language(module: str, suffix: str = "") -> Any:
    """The grammar that a module such as ``tree_sitter_bash`` holds for files with `suffix`; None where there is none."""
    try:
        from tree_sitter import Language

        grammar = importlib.import_module(module)
        names = (f"language_{suffix}", "language_typescript", "language_php", "language")
        return Language(next(getattr(grammar, name) for name in names if hasattr(grammar, name))())
    except (ImportError, ValueError, StopIteration):
        return None


def root_of(grammar: Any, source: bytes, seconds: float) -> Any:
    """The root node of the tree of `source`; None where its parsing was given up after `seconds` of CPU time."""
    from tree_sitter import Parser

    try:
        return Parser(grammar).parse(_reader(source), progress_callback=_patience(len(source), seconds)).root_node
    except ValueError:  # given up
        return None


def _reader(source: bytes) -> Callable[[int, object], bytes]:
    """The function that reads the source for a parser; it gives no more to one that goes back thousands of times."""
    reads = count()
    return lambda offset, _: source[offset : offset + _CHUNK] if next(reads) < _MAX_READS else b""


def _patience(size: int, seconds: float) -> Callable[..., bool]:
    """The function by which a parser of `size` bytes is given up: after so many steps, or its CPU time."""
    steps, most = count(), _LEAST_STEPS + size // _BYTES_A_STEP
    until = time.thread_time() + seconds
    return lambda *_: next(steps) > most or time.thread_time() > until
