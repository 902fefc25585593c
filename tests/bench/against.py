"""Measures this checkout against an older revision, in one go: `python -m tests.bench against [REV]`.

The revision is laid out in .bench/. Each measure runs in a process of its own, both trees by turns, so that a machine that
becomes slower does so for both; of all rounds the least figure counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from .tree import ROOT, compiled_once, lay_out

BASELINE = "6dfe4e1f9dbca99e93c3e6ff884b43a8adb0fa85"
"""The last revision of version 1 of the tables: what the redesign of the schema is measured against."""

ROUNDS = {
    "turns": 5,
    "long": 2,
    "cold": 10,
    "start": 10,
    "new": 5,
    "packet": 3,
    "writes": 3,
    "forks": 3,
    "prefix": 1,
}
"""The measures, and how often each is taken of either tree."""

Found = dict[str, tuple[str, float]]


def main(arguments: list[str]) -> None:
    """Measure both trees and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench against", description=__doc__)
    parser.add_argument("revision", nargs="?", default=BASELINE, help="the revision to compare with; default: BASELINE")
    parser.add_argument("--only", nargs="+", choices=ROUNDS, default=list(ROUNDS), help="some of the measures")
    parser.add_argument("--rounds", type=int, help="rounds of each measure")
    given = parser.parse_args(arguments)
    try:
        older = lay_out(given.revision)
    except subprocess.CalledProcessError:
        parser.error(f"{given.revision}: this repository has no such revision")
    print(f"{older.name[:12]} against {ROOT}: processor time, the least of all rounds")
    print(_row("measured", "older", "this", "this : older"))
    for name in given.only:
        before, now = measured((older, ROOT), name, given.rounds or ROUNDS[name])
        for what in dict.fromkeys((*before, *now)):
            print(_compared(what, before.get(what), now.get(what)), flush=True)


def measured(trees: tuple[Path, Path], name: str, rounds: int) -> tuple[Found, Found]:
    """The least figures of one measure for both trees, which are measured by turns, each as often the first as the other."""
    found: tuple[Found, Found] = ({}, {})
    for number in range(rounds):
        for place in (0, 1) if number % 2 == 0 else (1, 0):
            for what, unit, figure in _once(trees[place], name):
                least = found[place].get(what, (unit, figure))[1]
                found[place][what] = (unit, min(least, figure))
    return found


def _once(tree: Path, name: str) -> list[tuple[str, str, float]]:
    command = [sys.executable, "-m", "tests.bench.compared", str(tree), name]
    done = subprocess.run(command, cwd=ROOT, env=compiled_once(), check=True, stdout=subprocess.PIPE, text=True)
    return [(what, unit, figure) for what, unit, figure in json.loads(done.stdout)]


def _compared(what: str, before: tuple[str, float] | None, now: tuple[str, float] | None) -> str:
    ratio = f"{now[1] / before[1]:.2f}" if now and before and before[1] else "-"
    return _row(what, *(f"{side[1]:,.4g} {side[0]}" if side else "-" for side in (before, now)), ratio)


def _row(what: str, before: str, now: str, ratio: str) -> str:
    return f"{what:<52} {before:>14} {now:>14} {ratio:>14}"
