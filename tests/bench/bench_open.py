"""How long an open takes: of a new file and of one that is there, in a process that has just started and in one at work."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engine

from .table import Line
from .tree import compiled_once

NEW_WARM_TARGET_MS = 25.0
NEW_COLD_TARGET_MS = 60.0
THERE_TARGET_MS = 10.0
_ROUNDS = 15
_OPEN = """
import sys, time
import engine
opened = engine.open  # imports what it needs
before = time.process_time()
opened(sys.argv[1]).close()
print(1000 * (time.process_time() - before))
"""


def bench_open(rounds: int = _ROUNDS) -> list[Line]:
    """Milliseconds of processor time of `engine.open`, the import not counted; the least of some rounds."""
    with tempfile.TemporaryDirectory(prefix="open-") as folder:
        root = Path(folder)
        cold = [_in_a_process(root / f"cold-{number}.db") for number in range(rounds)]
        again = [_in_a_process(root / "cold-0.db") for _ in range(rounds)]
        new = [_here(root / f"warm-{number}.db") for number in range(rounds)]
        there = [_here(root / "warm-0.db") for _ in range(rounds)]
    return [
        Line("open a new file, warm", min(new), "ms", NEW_WARM_TARGET_MS, "CPU"),
        Line("open a new file, cold", min(cold), "ms", NEW_COLD_TARGET_MS, "CPU; fresh process, image in the cache"),
        Line("open a file that is there, warm", min(there), "ms", THERE_TARGET_MS, "CPU"),
        Line("open a file that is there, cold", min(again), "ms", None, "CPU; fresh process"),
    ]


def _here(path: Path) -> float:
    before = time.process_time()
    engine.open(path).close()
    return 1000 * (time.process_time() - before)


def _in_a_process(path: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(path)], env=compiled_once(), check=True, capture_output=True, text=True
    )
    return float(done.stdout)
