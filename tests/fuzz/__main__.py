"""Damages answers of the corpus and checks that the parser stands it: nothing raises, no call is lost, nothing is slow.

Then plants commands in the arguments of calls, in every notation, and checks at every cut that none of them runs; and puts
calls of all notations in rows and into thoughts.

`python -m tests.fuzz --count 500000`. A finding is saved as a file; `--first N --count 1` with the same seed makes it again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from . import mutations, rows
from .oracle import judge
from .planted import fault, plants

BATCH = 2_000
_SPREAD = 1_000_003
"""Seeds of runs are this far apart, so that their answers do not repeat each other."""


@dataclass
class Tally:
    """What a batch, or the whole run, came to."""

    answers: int = 0
    characters: int = 0
    calls: int = 0
    slowest: float = 0.0
    findings: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take up the figures of another tally."""
        self.answers += other.answers
        self.characters += other.characters
        self.calls += other.calls
        self.slowest = max(self.slowest, other.slowest)
        self.findings += other.findings


_answers = cache(mutations.answers)


def batch(seed: int, first: int, count: int) -> Tally:
    """Check the answers `first` to `first + count` of the run `seed`."""
    tally = Tally()
    for number in range(first, first + count):
        text = mutations.answer_of(seed * _SPREAD + number, _answers())
        verdict = judge(text)
        tally.answers += 1
        tally.characters += len(text)
        tally.calls += verdict.calls
        tally.slowest = max(tally.slowest, verdict.seconds_per_10_kb)
        if verdict.problem:
            tally.findings.append((number, verdict.problem, text))
    return tally


def main() -> int:
    """Run what the command line says; 1 if anything was found."""
    options = _options()
    total, began, told = Tally(), time.monotonic(), 0.0
    for tally in _batches(options):
        _save(options.out, options.seed, tally)
        total.add(tally)
        passed = time.monotonic() - began
        if passed - told >= 2 or total.answers == options.count:
            told = passed
            rate = total.answers / max(passed, 1e-9)
            print(
                f"{total.answers:>9,} of {options.count:,}  {rate:,.0f}/s  {len(total.findings)} findings", flush=True
            )
    print(
        f"{total.answers:,} answers ({total.characters / 1e6:,.0f} MB) in {time.monotonic() - began:,.0f} s, seed"
        f" {options.seed}: {total.calls:,} strict calls compared, slowest {1000 * total.slowest:.1f} ms CPU per 10 KB,"
        f" {len(total.findings)} findings" + (f" in {options.out}" if total.findings else "")
    )
    return 1 if bool(total.findings) | bool(_planted(options)) | bool(_rows(options)) else 0


def _rows(options: argparse.Namespace) -> list[str]:
    """Check calls in a row and calls in thoughts, a tenth of the answers each; what was read wrongly."""
    began, count = time.monotonic(), options.count // 10
    findings = list[str]()
    for kind in (rows.rows, rows.thoughts):
        for row in kind(count, options.seed):
            if told := rows.wrong(row):
                findings.append(told)
                print(f"row: {row.text!r}: {told}", file=sys.stderr)
    took = time.monotonic() - began
    print(f"{2 * count:,} rows of calls, and calls in thoughts, in {took:,.0f} s: {len(findings)} findings")
    return findings


def _planted(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Check the planted commands; what ran, and the answers that it ran in."""
    began, texts = time.monotonic(), plants(options.seed)
    with ProcessPoolExecutor(options.jobs) as pool:
        findings = [found for found in pool.map(fault, texts, chunksize=50) if found]
    for number, (text, what) in enumerate(findings):
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"planted-{number}.txt").write_bytes(text.encode(errors="surrogatepass"))
        print(f"planted {number}: {what}", file=sys.stderr)
    print(
        f"{len(texts):,} answers with planted commands, at every cut, in {time.monotonic() - began:,.0f} s:"
        f" {len(findings)} ran or were passed over in silence"
    )
    return findings


def _batches(options: argparse.Namespace) -> Iterator[Tally]:
    starts = range(options.first, options.first + options.count, BATCH)
    counts = [min(BATCH, options.first + options.count - start) for start in starts]
    with ProcessPoolExecutor(options.jobs) as pool:
        yield from pool.map(batch, [options.seed] * len(starts), starts, counts)


def _save(folder: Path, seed: int, tally: Tally) -> None:
    for number, problem, text in tally.findings:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}-{number}.txt").write_bytes(text.encode(errors="surrogatepass"))
        print(f"finding {number}: {problem}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=500_000, help="how many answers (default: 500000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other answers (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first answer (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    parser.add_argument("--out", type=Path, default=Path(".fuzz"), help="where findings go (default: .fuzz)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
