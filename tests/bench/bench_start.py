"""How long it takes until something happens: the import and the help text, over a bare Python."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from .table import Line

IMPORT_TARGET_MS = 80.0
HELP_TARGET_MS = 250.0
_ROUNDS = 10


def bench_start() -> list[Line]:
    """Wall milliseconds of `import engine` and of `engine --help`, less those of a Python that does nothing."""
    command = Path(sys.executable).with_name("engine")
    bare, imported, helped = _fastest(
        [sys.executable, "-c", "pass"], [sys.executable, "-c", "import engine"], [str(command), "--help"]
    )
    note = f"bare Python: {bare:.0f} ms"
    return [
        Line("import engine, over bare Python", imported - bare, "ms", IMPORT_TARGET_MS, note),
        Line("engine --help, over bare Python", helped - bare, "ms", HELP_TARGET_MS, note),
    ]


def _fastest(*commands: list[str]) -> list[float]:
    """The least wall milliseconds of each command, their rounds interleaved."""
    spent: list[list[float]] = [[] for _ in commands]
    for _ in range(_ROUNDS):
        for times, command in zip(spent, commands, strict=True):
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(1000 * (time.perf_counter() - began))
    return [min(times) for times in spent]
