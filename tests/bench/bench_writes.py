"""What a write through the door for apps costs: 1000 upserts of 1 KB, every path twice."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import engine

from .table import Line

WRITES = 1000
PATHS = 500
BYTES = 1000


def bench_writes() -> list[Line]:
    """Milliseconds for all of them, in one transaction and each in its own."""
    return [
        Line(f"{WRITES} upserts, one transaction", *_fastest(together), note="CPU; Rummy 0.5.0: 200-230 ms"),
        Line(f"{WRITES} upserts, one each, FULL", *_fastest(apart), note="CPU, kernel included"),
    ]


def together(db: engine.Database) -> None:
    """All writes in one transaction."""
    with db.transaction():
        apart(db)


def apart(db: engine.Database) -> None:
    """Every write in a transaction of its own, unless one is open."""
    for number in range(WRITES):
        body = f"{number} ".ljust(BYTES, "x")
        db.insert("verb_set", run="bench", path=f"known://entry/{number % PATHS}", body=body)


def _fastest(write: Callable[[engine.Database], None]) -> tuple[float, str]:
    return min(_once(write) for _ in range(3)), "ms"


def _once(write: Callable[[engine.Database], None]) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        db.insert("verb_set", run="bench", path="run://bench", attributes='{"model":"none"}')
        began = time.process_time()
        write(db)
        spent = time.process_time() - began
        assert db.value("select count(*) from known_entries where write_count = 2") == PATHS
        return 1000 * spent
