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
BYTES = 1000


def bench_writes(writes: int = WRITES) -> list[Line]:
    """Milliseconds for all of them, in one transaction and each in its own."""
    return [
        Line(f"{writes} upserts, one transaction", *_fastest(together, writes), note="CPU; Rummy 0.5.0: 200-230 ms"),
        Line(f"{writes} upserts, one each, FULL", *_fastest(apart, writes), note="CPU, kernel included"),
    ]


def together(db: engine.Database, writes: int = WRITES) -> None:
    """All writes in one transaction."""
    with db.transaction():
        apart(db, writes)


def apart(db: engine.Database, writes: int = WRITES) -> None:
    """Every write in a transaction of its own, unless one is open."""
    for number in range(writes):
        body = f"{number} ".ljust(BYTES, "x")
        db.insert("verb_set", run="bench", path=f"known://entry/{number % (writes // 2)}", body=body)


def _fastest(write: Callable[[engine.Database, int], None], writes: int) -> tuple[float, str]:
    return min(_once(write, writes) for _ in range(3)), "ms"


def _once(write: Callable[[engine.Database, int], None], writes: int) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        db.insert("verb_set", run="bench", path="run://bench", attributes='{"model":"none"}')
        began = time.process_time()
        write(db, writes)
        spent = time.process_time() - began
        assert db.value("select count(*) from known_entries where write_count = 2") == writes // 2
        return 1000 * spent
