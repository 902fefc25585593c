"""Eight processes that run, fork, read, resolve, abort and purge in one file: no error but clear refusals (404, 409).

`ENGINE_CAMPAIGN=60` lets them go on for 60 seconds.

spec: @leases @purge @driver_loop
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from audit import audit

import engine

SECONDS = os.environ.get("ENGINE_CAMPAIGN", "1")
PROCESSES = 8


@pytest.mark.slow
def test_eight_processes_use_one_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = tmp_path / "crowd.db"
    engine.open(path).close()
    children = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crowd.py")), str(path), str(root), str(seed), SECONDS],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(PROCESSES)
    ]
    ended = [(child, *child.communicate(timeout=600 + 3 * float(SECONDS))) for child in children]
    for child, _, errors in ended:
        assert not errors, errors
        assert child.returncode == 0
    done = sum((Counter(json.loads(output)) for _, output, _ in ended), Counter[str]())
    print(dict(done))
    assert sum(done.values()) >= 5 * PROCESSES
    audit(path)
    with engine.open(path) as db:
        assert db.value("select count(*) from leases") == 0
        for row in db.rows("select run from resumable_runs"):
            db.resume(row["run"])
    audit(path)
