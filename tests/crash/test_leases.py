"""Two processes and one run.

1. While one drives, another is refused with a clear 409, and the first is not disturbed.
2. Of two that start at the same moment exactly one drives.
3. The lease of a process that was killed is taken over at once, long before it would expire.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from audit import audit
from crash.harness import Case, ended, new_case

import engine

MODEL_S = 3.0
SCRIPT = [
    '<set path="known://fact">One.</set><update status="102">first</update>',
    {"text": '<set path="known://fact">Two.</set><update status="102">second</update>', "delay_s": MODEL_S},
    '<update status="200">Done.</update>',
]
REFUSAL = {"error": "409 run crash: another process drives it; wait for it or stop it", "status": 409}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return new_case(tmp_path / "case", {}, SCRIPT)


def test_second_driver_is_refused_and_does_not_disturb_the_first(case: Case) -> None:
    first = case.start()
    _wait_until_asking(case)
    second = case.start()
    assert ended(second) == REFUSAL
    assert second.returncode == 1
    assert (ended(first)["answer"], first.returncode) == ("Done.", 0)
    _check_ended_once(case)


def test_of_two_drivers_at_once_exactly_one_drives(case: Case) -> None:
    killed = case.start()
    _wait_until_asking(case)
    _kill(killed)
    drivers = [case.start(), case.start()]
    results = sorted((ended(driver) for driver in drivers), key=lambda result: result["status"])
    assert (results[0]["status"], results[0].get("answer")) == (200, "Done.")
    assert results[1] == REFUSAL
    _check_ended_once(case)


def test_lease_of_a_killed_driver_is_taken_over_at_once(case: Case) -> None:
    killed = case.start()
    _wait_until_asking(case)
    _kill(killed)
    with engine.open(case.database) as db:
        lasts_ms = db.value("select expires_at - now() from leases")
    assert lasts_ms > 2_000 * MODEL_S
    began = time.monotonic()
    assert case.finish()["answer"] == "Done."
    assert 1000 * (time.monotonic() - began) < lasts_ms
    _check_ended_once(case)


def _wait_until_asking(case: Case) -> None:
    """Wait until the slow answer is being waited for."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if case.database.exists():
            with engine.open(case.database) as db:
                if db.value("select 1 from turns where sequence = 2 and phase = 'asking'"):
                    return
        time.sleep(0.05)
    raise AssertionError("the run did not get to its second turn")


def _kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _check_ended_once(case: Case) -> None:
    """Every turn was asked and answered once, nobody holds a lease, and the file is sound."""
    with engine.open(case.database) as db:
        assert db.value("select count(*) from leases") == 0
        turns = db.rows("select sequence, phase from turns order by sequence")
        assert turns == [{"sequence": number, "phase": "judged"} for number in (1, 2, 3)]
        answered = db.value("select count(*) from model_calls where state = 'answered'")
        assert answered == len(SCRIPT)
    audit(case.database)
