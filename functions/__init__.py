"""Functions that the engine registers in SQLite: pure, one module per domain.

Every function is deterministic and returns NULL when a required argument is NULL. It reads neither the clock nor the
world. A function that reads a model's text never raises: it returns what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Function(NamedTuple):
    """A SQL scalar function: its name in SQL, its number of arguments (-1: any number), the Python function it calls."""

    name: str
    arguments: int
    call: Callable[..., Any]
