"""How long it takes until something happens: the import and the help text, over a bare Python."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from .table import Line
from .tree import compiled_once

IMPORT_TARGET_MS = 80.0
HELP_TARGET_MS = 250.0
_ROUNDS = 10


def bench_start(rounds: int = _ROUNDS) -> list[Line]:
    """Milliseconds of `import engine` and of `engine --help`, less those of a Python that does nothing.

    They are processor time: neither of the two waits for anything, and a busy machine does not count.
    """
    command = Path(sys.executable).with_name("engine")
    bare, imported, helped = _fastest(
        rounds,
        [sys.executable, "-c", "pass"],
        [sys.executable, "-c", "import engine; engine.open"],
        [str(command), "--help"],
    )
    note = f"CPU; bare Python: {bare:.0f} ms"
    return [
        Line("import engine, over bare Python", imported - bare, "ms", IMPORT_TARGET_MS, note),
        Line("engine --help, over bare Python", helped - bare, "ms", HELP_TARGET_MS, note),
    ]


def _fastest(rounds: int, *commands: list[str]) -> list[float]:
    """The least processor milliseconds of each command, the rounds of all interleaved."""
    spent: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds):
        for times, command in zip(spent, commands, strict=True):
            before = _children_ms()
            subprocess.run(command, env=compiled_once(), check=True, stdout=subprocess.DEVNULL)
            times.append(_children_ms() - before)
    return [min(times) for times in spent]


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)
