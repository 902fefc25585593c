"""Where a turn goes: its time by Python function, by statement and by step of each trigger, its bytes by table."""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import apsw

import engine
from tests.counters import Counters

from .bench_turns import drive, warm_up

_WIDTH = 110
_SHOWN = 40

Times = dict[str, list[float]]


def by_function(turns: int) -> None:
    """Print cProfile's table of a run of `turns` turns, by own time and by cumulative time."""
    warm_up()
    profiler = cProfile.Profile()
    profiler.runcall(drive, turns)
    for order in ("tottime", "cumulative"):
        pstats.Stats(profiler, stream=sys.stdout).strip_dirs().sort_stats(order).print_stats(_SHOWN)


def by_statement(turns: int) -> None:
    """Print, for a run of `turns` turns, the wall time of each statement and the share of each step of a trigger.

    A step's share runs from its own trace event to the next one: what follows a nested trigger is booked on the last step
    of that. Tracing costs about a microsecond a step.
    """
    warm_up()
    statements: Times = defaultdict(lambda: [0, 0.0, 0])
    steps: Times = defaultdict(lambda: [0, 0.0, 0])
    # the collector would be booked on whatever step it interrupts
    gc.disable()
    with _traced(statements, steps):
        drive(turns)
    gc.enable()
    _print(f"statements, {turns} turns (with their triggers)", statements, turns)
    _print(f"steps of triggers and statements themselves, {turns} turns", steps, turns)


def by_table(turns: int) -> None:
    """Print the bytes a turn of each table and index after a run of `turns` turns."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        drive(turns, Path(folder))
        with closing(apsw.Connection(f"{folder}/bench.db")) as connection:
            found = connection.execute("select name, sum(pgsize), sum(ncell) from dbstat group by name order by 2 desc")
            print(f"bytes a turn and rows, {turns} turns")
            sizes: list[tuple[Any, ...]] = found.fetchall()
            for name, size, rows in sizes[:_SHOWN]:
                print(f"{size / turns:9.0f} {rows:8}  {name}")


@contextmanager
def _traced(statements: Times, steps: Times) -> Iterator[None]:
    """Trace every connection that is opened inside; entries are [calls, seconds, virtual machine steps]."""
    current: list[Any] = ["", 0]  # the step, and when it began
    counters = Counters()
    began: dict[int, int] = {}
    bodies: dict[str, str] = {}

    @cache
    def named(step: str) -> str:
        return ", ".join(name for name, body in bodies.items() if step in body) + ": " + step

    def told(event: dict[str, Any]) -> None:
        now = time.perf_counter_ns()
        if current[0]:
            steps[current[0]][1] += (now - current[1]) / 1e9
        sql = " ".join((event["sql"] or "").split())
        current[0] = ""
        if event["code"] == apsw.SQLITE_TRACE_PROFILE:
            row = statements[sql]
            row[0] += 1
            row[1] += (now - began.pop(event["id"], now)) / 1e9
            row[2] += counters.of(event)
        else:
            if event["trigger"]:
                sql = sql if sql.startswith("TRIGGER ") else named(sql)
            else:
                began[event["id"]] = now
            current[0] = sql
            steps[sql][0] += 1
        current[1] = time.perf_counter_ns()

    opened = engine.open

    def traced_open(*arguments: Any, **options: Any) -> engine.Database:
        db = opened(*arguments, **options)
        triggers = db.rows("select name, sql from sqlite_schema where type = 'trigger'")
        bodies.update((row["name"], " ".join(row["sql"].split())) for row in triggers)
        db.connection.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, told)
        return db

    engine.open = traced_open
    try:
        yield
    finally:
        engine.open = opened


def _print(title: str, times: Times, turns: int) -> None:
    total = sum(row[1] for row in times.values())
    print(f"\n{title}: {1000 * total / turns:.2f} ms a turn")
    print(f"{'ms/turn':>9} {'calls/turn':>10} {'µs/call':>9} {'steps/turn':>10}")
    for name, (calls, seconds, steps) in sorted(times.items(), key=lambda item: -item[1][1])[:_SHOWN]:
        print(
            f"{1000 * seconds / turns:9.3f} {calls / turns:10.2f} {1e6 * seconds / max(calls, 1):9.1f}"
            f" {steps / turns:10.0f}  {name[:_WIDTH]}"
        )
