"""Functions that the engine registers in SQLite: pure, one module per domain.

Every function here is deterministic, returns NULL when a required argument is NULL, touches neither the clock nor the
world, and never raises on model text: what it cannot do it says in what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Function(NamedTuple):
    """A SQL scalar function: its name in SQL, how many arguments it takes (-1: any number), what computes it."""

    name: str
    arguments: int
    call: Callable[..., Any]
