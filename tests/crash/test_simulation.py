"""Histories of several drivers and clients over one file, each decided by a seed.

1. Drivers come and go, time jumps, processes end without a word, leases expire under those who hold them: what was told is
there, what has ended stays as it ended, no answer and no deed is lost or doubled, and one process can bring all to its end.
An ordinary run tries a few, a campaign (ENGINE_CAMPAIGN=N) N of them. 2. The same seed is the same history. 3. Planted
faults are found.

spec: @crash_safety
"""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import CAMPAIGN
from crash.simulation import Broken, simulate

import engine

SEEDS = range(CAMPAIGN or 6)
PLANTED = "drop trigger if exists turns__guard_lease"
"""What lets a driver go on whose lease another one has taken."""


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_doubled(tmp_path: Path, seed: int) -> None:
    assert simulate(tmp_path, seed).scheduler.steps > 20


def test_a_seed_is_a_history(tmp_path: Path) -> None:
    (first := tmp_path / "first").mkdir()
    (second := tmp_path / "second").mkdir()
    assert _told(first) == _told(second)


def _told(folder: Path) -> list[str]:
    return [line.replace(str(folder), "") for line in simulate(folder, 5).scheduler.told]


def test_a_planted_fault_is_found(tmp_path: Path) -> None:
    for seed in range(60):
        (folder := tmp_path / str(seed)).mkdir()
        try:
            simulate(folder, seed, PLANTED)
        except (Broken, engine.EngineError):
            return
    pytest.fail("a driver without its lease was never noticed")
