"""Two processes and one run.

1. While one drives, another is refused with a clear 409, and the first is not disturbed.
2. Of two that start at the same moment exactly one drives.
3. The lease of a process that was killed is taken over at once, long before it would expire.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from audit import audit
from crash.harness import Case, ended, new_case
from timing import wait_until

import engine

WAIT = "<sh>until [ -e go ]; do sleep 0.02; done</sh>"
SCRIPT = [
    f'<set path="known://fact">One.</set>{WAIT}<update status="102">first</update>',
    f'<set path="known://fact">Two.</set>{WAIT}<update status="102">second</update>',
    '<update status="200">Done.</update>',
]
REFUSAL = {"error": "409 run crash: another process works on it; wait, or stop it: engine abort crash", "status": 409}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """A run whose commands wait for the file `go`, and whose leases and commands last for an hour."""
    case = new_case(tmp_path / "case", {}, SCRIPT)
    with engine.open(case.database) as db:
        db.execute("update settings set value = '600' where name in ('lease_seconds', 'process_timeout')")
    return case


def test_second_driver_is_refused_and_does_not_disturb_the_first(case: Case) -> None:
    first = case.start()
    _wait_until_driven(case)
    second = case.start()
    assert ended(second) == REFUSAL
    assert second.returncode == 1
    _go(case)
    assert (ended(first)["answer"], first.returncode) == ("Done.", 0)
    _check_ended_once(case)


def test_of_two_drivers_at_once_exactly_one_drives(case: Case) -> None:
    killed = case.start()
    _wait_until_driven(case)
    _kill(killed)
    drivers = [case.start(), case.start()]
    wait_until(lambda: any(driver.poll() is not None for driver in drivers))
    _go(case)
    results = sorted((ended(driver) for driver in drivers), key=lambda result: result["status"])
    assert (results[0]["status"], results[0].get("answer")) == (200, "Done.")
    assert results[1] == REFUSAL
    _check_ended_once(case)


def test_lease_of_a_killed_driver_is_taken_over_at_once(case: Case) -> None:
    killed = case.start()
    _wait_until_driven(case)
    _kill(killed)
    with engine.open(case.database) as db:
        expires_at = db.value("select expires_at from leases")
    _go(case)
    assert case.finish()["answer"] == "Done."
    with engine.open(case.database) as db:
        assert db.value("select now()") < expires_at, "or it had expired"
    _check_ended_once(case)


def _wait_until_driven(case: Case) -> None:
    """Wait until the first command has been started."""

    def started() -> object:
        with engine.open(case.database) as db:
            return db.value("select 1 from effects where state = 'started'")

    wait_until(started)


def _go(case: Case) -> None:
    """Let the commands end."""
    (case.root / "go").touch()


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
