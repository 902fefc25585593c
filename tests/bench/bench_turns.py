"""What a turn costs: processor time, fsyncs and bytes, against bare rows with the same text."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

import engine

from .metering import model_excluded
from .scenario import LOG_TURNS, raw_bytes, response, write_script
from .table import Line

TURNS = (50, 200, 1000)
CPU_TARGET_MS = 2.0
GROWTH_TARGET = 1.25
SIZE_TARGET = 4.5
FSYNC_TURNS = 50
_TAIL = 20

_WHY_CPU = "three commands a turn, each a cascade of about 100 trigger steps; see --statements"
_WHY_GROWTH = "some view reads what is archived; compare --statements at two lengths"
_WHY_SIZE = "history, the log and what was sent stand beside the text; see --sizes"


@dataclass(frozen=True)
class Driven:
    """A driven run: mean CPU milliseconds a turn, those of the last 20 turns, what the file grew by, its raw text, and the
    wall milliseconds until a new process of it knows what comes next.
    """

    turns: int
    mean_ms: float
    tail_ms: float
    file_bytes: int
    text_bytes: int
    resume_ms: float


def bench_turns(turns: tuple[int, ...] = TURNS, traced: int = FSYNC_TURNS) -> list[Line]:
    """CPU a turn for each number of turns; growth, bytes and size are those of the longest run.

    A run is repeated and the least disturbed one counts.
    """
    warm_up()
    lines: list[Line] = []
    driven = []
    for count in turns:
        best = min((drive(count) for _ in range(5 if count <= 200 else 2)), key=lambda run: run.mean_ms)
        raw = min(raw_rows(count) for _ in range(3))
        driven.append(best)
        target = CPU_TARGET_MS if count == turns[0] else None
        note = f"last {_TAIL} turns {best.tail_ms:.2f} ms; {best.mean_ms / raw:.0f} × raw rows ({raw:.3f} ms)"
        lines.append(Line(f"turn, T = {count}: CPU", best.mean_ms, "ms", target, note, _WHY_CPU))
    first, last = driven[0], driven[-1]
    growth = Line(
        f"turn, T = {last.turns} : T = {first.turns}", last.mean_ms / first.mean_ms, "×", GROWTH_TARGET, "", _WHY_GROWTH
    )
    return [*lines, growth, *_sizes(last), _fsyncs(traced)]


def warm_up() -> None:
    """Import what a first turn imports, so that it is not counted as the cost of a turn."""
    drive(LOG_TURNS + 2)


def drive(turns: int, folder: Path | None = None) -> Driven:
    """Drive the scenario for `turns` turns in a file of its own; it is kept in `folder`, or removed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        at = folder or Path(temporary)
        model = write_script(at / "script.jsonl", turns)
        with closing(engine.open(at / "bench.db")) as db:
            before = _size(at)
            with model_excluded() as meter:
                result = db.run("Keep the readings.", run="bench", model=model, max_turns=turns + 1)
            assert (result.status, result.turns) == (200, turns), result
            said = db.value("select sum(length(cast(response as blob))) from turns")
        assert said == sum(len(response(turn, turns)) for turn in range(1, turns + 1))
        tail = meter.mean_ms(len(meter.turns) - _TAIL - 1, _TAIL) if turns > _TAIL else meter.mean_ms()
        size = _size(at) - before
        return Driven(turns, meter.total_ms / turns, tail, size, raw_bytes(turns), min(_resume(at) for _ in range(3)))


def raw_rows(turns: int) -> float:
    """CPU milliseconds a turn of storing two rows of 1 KB in one transaction, WAL and FULL, through apsw."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        connection = apsw.Connection(str(Path(folder) / "raw.db"))
        connection.execute("pragma journal_mode = wal").fetchall()
        connection.execute("pragma synchronous = full").fetchall()
        connection.execute("create table rows (id integer primary key, turn integer, kind text, body text) strict")
        texts = [response(turn, turns) for turn in range(turns)]
        began = time.process_time()
        for turn, text in enumerate(texts):
            connection.execute("begin immediate")
            for kind in ("response", "output"):
                connection.execute("insert into rows (turn, kind, body) values (?, ?, ?)", (turn, kind, text))
            connection.execute("commit")
        spent = time.process_time() - began
        connection.close()
        return 1000 * spent / turns


def _resume(folder: Path) -> float:
    """Wall milliseconds to open the file and to read the next step, as a resume does."""
    began = time.perf_counter()
    with closing(engine.open(folder / "bench.db")) as db:
        assert db.value("select step from _next_steps where run = 'bench'") == "end"
        return 1000 * (time.perf_counter() - began)


def _sizes(run: Driven) -> list[Line]:
    text = run.text_bytes / run.turns
    return [
        Line(f"bytes a turn, T = {run.turns}", run.file_bytes / run.turns, "B", None, f"{text:.0f} B of them text"),
        Line(
            f"file : raw text, T = {run.turns}",
            run.file_bytes / run.text_bytes,
            "×",
            SIZE_TARGET,
            f"{run.file_bytes / 1e6:.1f} MB, without the schema",
            _WHY_SIZE,
        ),
        Line(f"resume, T = {run.turns}", run.resume_ms, "ms", None, "wall: open and first step; raw rows: 14 ms"),
    ]


def _size(folder: Path) -> int:
    """Bytes of the database once its log is folded in."""
    with closing(apsw.Connection(str(folder / "bench.db"))) as connection:
        connection.execute("pragma wal_checkpoint(passive)").fetchall()
        sizes: list[Any] = connection.execute(
            "select page_count * page_size from pragma_page_count, pragma_page_size"
        ).fetchall()
    return int(sizes[0][0])


def _fsyncs(turns: int) -> Line:
    """The fsyncs of a turn, counted by strace in a process of its own: two runs, the difference is the turns'."""
    if shutil.which("strace") is None:
        return Line("fsyncs a turn", None, "", None, "not counted: there is no strace here")
    few, many = (_traced(each) for each in (turns, 2 * turns))
    return Line("fsyncs a turn", (many - few) / turns, "", None, "raw rows: 1")


def _traced(turns: int) -> int:
    command = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", sys.executable, "-c"]
    code = f"from tests.bench.bench_turns import drive; drive({turns})"
    done = subprocess.run([*command, code], capture_output=True, text=True, check=True)
    return sum(
        int(calls) for calls in re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+).*\bf(?:data)?sync$", done.stderr, re.M)
    )
