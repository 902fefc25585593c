"""What behavioural threads cost: nothing where there are none, and how much a turn with one and with a hundred."""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

import engine
from tests.counters import Counters

from .metering import model_excluded
from .scenario import write_script
from .table import Line

TURNS = 50
HUNDRED = 100


def bench_threads(turns: int = TURNS, many: int = HUNDRED) -> list[Line]:
    """Processor time and instructions of SQLite a turn, without threads, with one, and with many."""
    _drive(turns, 0)
    lines = []
    for count in (0, 1, many):
        ms, steps = min(_drive(turns, count) for _ in range(3))
        note = f"{steps:,.0f} instructions of SQLite a turn"
        lines.append(Line(f"turn with {count} threads: CPU", ms, "ms", note=note))
    return lines


def _drive(turns: int, threads: int) -> tuple[float, float]:
    """CPU milliseconds and instructions a turn of the scenario. Half of the threads wait, half block what does not come."""
    spent, counters = 0, Counters()

    def told(event: dict[str, Any]) -> None:
        nonlocal spent
        spent += counters.of(event)

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        model = write_script(Path(folder) / "script.jsonl", turns)
        with closing(engine.open(Path(folder) / "bench.db")) as db:
            db.insert("verb_set", path="run://bench", attributes=json.dumps({"model": model}))
            for number in range(threads):
                db.execute(
                    "insert into threads (name, level, run_id, purpose, repeat_from) "
                    "select ?, 'run', id, 'measured', 1 from runs where alias = 'bench'",
                    (f"t{number}",),
                )
                part, event, message = ("block", "command", "Refused.") if number % 2 else ("wait", "edit", None)
                db.execute(
                    "insert into thread_patterns (thread_id, point, ordinal, part, event, fields, message) "
                    "select max(id), 1, 1, ?, ?, json_object('path', ?), ? from threads",
                    (part, event, f"known://never{number}", message),
                )
            db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, told)
            with model_excluded() as meter:
                result = db.run("Keep the readings.", run="bench", model=model, max_turns=turns + 1)
            db.connection.trace_v2(0, None)
            assert (result.status, result.turns) == (200, turns), result
    return meter.total_ms / turns, spent / turns
