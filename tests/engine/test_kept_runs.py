"""Runs that earlier builds recorded are still what this build makes of them.

spec: @kept_runs
"""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

import engine

KEPT = sorted((Path(__file__).parent.parent / "kept").glob("*.db.xz"))
TURNS = {"work": 6, "decided": 4, "children": 7}


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_kept_runs_are_replayed_as_they_were_recorded(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    path.write_bytes(lzma.decompress(kept.read_bytes()))
    with engine.open(path, read_only=True, trust=True) as db:
        for run, turns in TURNS.items():
            done = db.replay(run)
            told = done.difference and f"{done.difference[:4]}\n{done.difference.diff}"
            assert done.identical, f"{told}\nIf this change is wanted: python -m tests.kept.make"
            assert done.turns == turns


def test_there_are_kept_runs() -> None:
    assert [kept.name for kept in KEPT] == ["runs.db.xz"]
