"""Runs the measurements: `python -m tests.bench`, all of them or those named; one table comes out.

With --profile, --statements or --sizes it says where the time or the bytes of a turn go instead. `against [REV]` compares
this checkout with an older revision; `local` asks the local model about the sources of four packages, `knowledge` asks it
with rules that are called up, with all of them, and with none; `peers` does the same work with other libraries.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path

from . import against, against_peers, knowledge, local, profiling
from .table import Line, text


def main() -> None:
    """Measure what the command line names and print the table."""
    if sys.argv[1:2] == ["against"]:
        against.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["local"]:
        local.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["peers"]:
        against_peers.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["knowledge"]:
        knowledge.main(sys.argv[2:])
        return
    benchmarks = found()
    arguments = _arguments(list(benchmarks))
    turns = tuple(arguments.turns or ())
    if arguments.look:
        arguments.look(turns[0] if turns else 50)
        return
    lines: list[Line] = []
    for name in arguments.names or benchmarks:
        lines += benchmarks[name](**_options(benchmarks[name], turns))
    print(text(lines))


def _options(benchmark: Callable[..., list[Line]], turns: tuple[int, ...]) -> dict[str, object]:
    """The lengths as a benchmark takes them: all of them, the first where it measures one run, or none."""
    parameter = inspect.signature(benchmark).parameters.get("turns")
    if parameter is None or not turns:
        return {}
    return {"turns": turns[0] if isinstance(parameter.default, int) else turns}


def found() -> dict[str, Callable[..., list[Line]]]:
    """The functions bench_* of the files bench_*.py beside this one, by their name without that prefix."""
    modules = [
        importlib.import_module(f"{__package__}.{path.stem}")
        for path in sorted(Path(__file__).parent.glob("bench_*.py"))
    ]
    return {
        name.removeprefix("bench_"): function
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("bench_") and inspect.isfunction(function)
    }


def _arguments(names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(names)}")
    parser.add_argument("--turns", type=int, nargs="+", help="lengths of the runs, or of the one to profile")
    for name, look, says in (
        ("--profile", profiling.by_function, "time by Python function, of 50 turns unless --turns says otherwise"),
        ("--statements", profiling.by_statement, "time by statement and by step of each trigger"),
        ("--sizes", profiling.by_table, "bytes by table"),
    ):
        parser.add_argument(name, dest="look", action="store_const", const=look, help=says)
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return arguments


if __name__ == "__main__":
    main()
