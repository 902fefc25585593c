"""Every registered function ends within its limits of time and memory, whatever it is given.

spec: @functions @limits
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("every_function.py")
PARTS = 2
"""Processes that share the calls, so that two workers may run them."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_function_holds_its_limits(part: int) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(part), str(PARTS)], capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    findings = [line for line in lines if "raised" in line or "slow" in line]
    assert findings == []
    assert lines[-1] == "done", f"ended with {done.returncode} in {lines[-1]}\n{done.stderr[-1000:]}"
