"""A clock that jumps, backwards or forwards by years, in the middle of a run disturbs no run and keeps nobody out.

spec: @leases @driver_loop @clock_limit
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, Clock, begin, script
from fresh import fresh

import engine
from engine.driving.lease import Lease
from engine.schema.registration import system_clock
from engine.system.identity import ProcessIdentity

YEARS_MS = 5 * 365 * 86_400_000
ELSEWHERE = ProcessIdentity("another boot", 1, "1").to_json()
JUMPS = {"forwards": [YEARS_MS], "backwards": [-YEARS_MS], "to and fro": [YEARS_MS, -2 * YEARS_MS, 3 * YEARS_MS]}


@pytest.mark.parametrize("jumps", JUMPS.values(), ids=JUMPS)
def test_a_run_goes_on_whatever_the_clock_does(tmp_path: Path, workspace_dir: Path, jumps: list[int]) -> None:
    clock = Clock(step=3)
    left = list(jumps) * 12

    def jump(_: dict[str, Any]) -> None:
        if left:
            clock.now += left.pop()

    with fresh(clock=clock) as db:
        model = script(
            tmp_path,
            '<get path="notes.md"/>' + GO_ON,
            "<sh>echo x >> ran</sh>" + GO_ON,
            '<set path="src/new.py">x = 1\n</set>' + GO_ON,
            {"error": {"status": 503, "message": "not ready"}},
            DONE,
        )
        result = db.run("Go", model=model, root=workspace_dir, run="demo", yolo=True, on_event=jump)
        assert result.status == 500, "the model broke, nothing else did"
        assert db.run("Again", run="demo", on_event=jump).status == 200
        assert (workspace_dir / "ran").read_text() == "x\n"
        assert db.value("select count(*) from commands where outcome is not null") == 0
        assert db.value("select count(*) from turns where ms_model < 0 or ms_engine < 0") == 0
        assert db.value("select count(*) from leases") == 0


def test_a_lease_of_a_clock_that_was_put_back_keeps_nobody_out() -> None:
    with fresh() as db:
        begin(db, "demo")
        # a holder of another boot, of which nobody can say whether it lives
        db.insert("_claim_lease", run="demo", token="theirs", holder=ELSEWHERE, replaces=None)
        with pytest.raises(engine.Conflict, match="another process works on it"):
            Lease(db, "demo").__enter__()
        db.execute("update leases set expires_at = expires_at + ?", (YEARS_MS,))
        with Lease(db, "demo") as lease:
            assert db.value("select token from leases") == lease.token
            assert db.value("select expires_at from leases") <= system_clock() + 30_001


def test_a_limit_in_seconds_holds_when_the_clock_runs_ahead(tmp_path: Path) -> None:
    clock = Clock()

    def jump(event: dict[str, Any]) -> None:
        if event["type"] == "turn":
            clock.now += YEARS_MS

    with fresh(clock=clock) as db:
        model = script(tmp_path, *[GO_ON] * 3, DONE)
        result = db.run("Go", model=model, run="demo", max_seconds=60, on_event=jump)
        assert (result.status, result.reason) == (499, 'stopped at the limit of 60 seconds; "Go" is not done')
