"""Each measurement of `python -m tests.bench` runs, at the smallest size that it can have, and reports figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from bench import against_peers as peers
from bench.__main__ import found

SMALLEST: dict[str, dict[str, Any]] = {
    "assembly": {"entries": (100,), "rounds": 1},
    "context": {"entries": (2,)},
    "delegation": {"children": 2, "turns": 1, "model_s": 0.01, "many": 3},
    "discovery": {"modules": "heapq shutil", "texts": ((20, 15),)},
    "fleet": {"files": 3, "tasks": 3},
    "modules": {},
    "opcodes": {},
    "open": {"rounds": 1},
    "prefix": {"turns": 3},
    "relations": {"nodes": 60, "turns": 2},
    "rules": {"domains": 2},
    "search": {"entries": 90},
    "start": {"rounds": 1},
    "storage": {"turns": 6, "forked": 40},
    "text": {"rounds": 1},
    "threads": {"turns": 2, "many": 2},
    "together": {"runs": 2, "model_s": 0.01},
    "turns": {"turns": (3,), "traced": 1},
    "waits": {"rounds": 1},
    "workflows": {"steps": 300},
    "writes": {"writes": 2},
}


@pytest.mark.parametrize("name", found())
def test_a_measurement_runs(name: str) -> None:
    lines = found()[name](**SMALLEST[name])
    assert lines
    assert all(line.what for line in lines)


@pytest.mark.parametrize("work", peers.SIZES)
def test_the_work_that_is_compared_with_other_libraries_runs(work: str) -> None:
    """The peers themselves need an environment of their own."""
    told = peers.measured(Path(sys.executable), peers.PROGRAMS["engine"], work, 3)
    assert told["cpu"] > 0
