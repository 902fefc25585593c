"""Leases: one driver a run, fenced at every door, replaced when it is dead or late.

spec: @leases @driver_loop
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import pytest
from driving import DONE, Clock, begin, opened, script
from fresh import fresh
from timing import interrupted, wait_until

import engine
from engine.driving.lease import Lease
from engine.driving.lease_renewal import Keeper
from engine.errors import Conflict, LeaseHeld, LeaseLost
from engine.schema.registration import system_clock
from engine.system import identity

ELSEWHERE = identity.ProcessIdentity("another boot", 1, "1", "another machine", "").to_json()


def claim(db: engine.Database, token: str, **columns: Any) -> None:
    db.insert("_claim_lease", run="demo", token=token, holder=columns.pop("holder", ELSEWHERE), **columns)


def test_a_second_driver_is_refused_while_the_first_is_there(tmp_path: Path) -> None:
    with fresh() as db:
        refused: list[str] = []

        def try_to_drive_too(event: dict[str, Any]) -> None:
            if event["type"] == "turn":
                with engine.open(db.path) as other, pytest.raises(LeaseHeld) as error:
                    other.resume("demo")
                refused.append(str(error.value))

        result = db.run("Go", model=script(tmp_path, DONE), run="demo", on_event=try_to_drive_too)
        assert result.status == 200
        assert refused == ["409 run demo: another process works on it; wait, or stop it: engine abort demo"]
        assert db.value("select count(*) from leases") == 0


def test_a_lease_is_given_back_when_driving_breaks(db: engine.Database, tmp_path: Path) -> None:
    def fall_over(_: dict[str, Any]) -> None:
        raise RuntimeError("the listener broke")

    with pytest.raises(RuntimeError, match="the listener broke"):
        db.run("Go", model=script(tmp_path, DONE), run="demo", on_event=fall_over)
    assert db.value("select count(*) from leases") == 0
    assert db.resume("demo").status == 200


DOORS: dict[str, Callable[[engine.Database, str | None], None]] = {
    "_begin_turn": lambda db, token: db.insert("_begin_turn", run="demo", lease=token),
    "_submit_packet": lambda db, token: db.insert("_submit_packet", turn_id=1, chars=100, lease=token),
    "turns.response": lambda db, token: db.execute(
        "update turns set response = '<sh>ls</sh>', lease = ? where id = 1", (token,)
    ),
    "dispatch": lambda db, token: db.insert("_dispatch", run="demo", lease=token),
    "_start_effect": lambda db, token: db.insert("_start_effect", effect_id=1, identity=None, lease=token),
    "_append_output": lambda db, token: db.insert("_append_output", effect_id=1, channel=1, text="out", lease=token),
    "effect_results": lambda db, token: db.insert("effect_results", effect_id=1, state="resolved", lease=token),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("token", ["stale", None])
def test_a_stale_token_is_refused_at_every_door(db: engine.Database, door: str, token: str | None) -> None:
    begin(db, "demo", yolo=1)
    claim(db, "mine")
    for name, write in DOORS.items():
        if name == door:
            with pytest.raises(Conflict):
                write(db, token)
            return
        write(db, "mine")


def test_who_has_been_replaced_is_refused(db: engine.Database) -> None:
    begin(db, "demo")
    claim(db, "first")
    db.insert("_begin_turn", run="demo", lease="first")
    claim(db, "second", replaces="first")
    with pytest.raises(Conflict):
        db.insert("_submit_packet", turn_id=1, chars=10, lease="first")
    db.insert("_submit_packet", turn_id=1, chars=10, lease="second")
    assert db.row("select phase, lease from turns") == {"phase": "asking", "lease": "second"}


def test_a_late_answer_of_a_replaced_driver_changes_nothing(db: engine.Database) -> None:
    begin(db, "demo")
    claim(db, "first")
    db.insert("_begin_turn", run="demo", lease="first")
    db.insert("_submit_packet", turn_id=1, chars=10, lease="first")
    claim(db, "second", replaces="first")
    with pytest.raises(Conflict, match="409 run demo: another process has taken over this run"):
        db.execute("update turns set response = 'late', lease = 'first' where id = 1")
    assert db.value("select response from turns") is None


def test_an_expired_lease_is_taken_and_one_in_force_is_not(db: engine.Database) -> None:
    begin(db, "demo")
    before = system_clock()
    claim(db, "first")
    assert before + 29_999 <= db.value("select expires_at from leases") <= system_clock() + 30_001
    db.execute("update leases set expires_at = ?", (system_clock() + 20_000,))
    with pytest.raises(Conflict, match="409 run demo: another process works on it"):
        claim(db, "second")
    db.execute("update leases set expires_at = ?", (system_clock() - 1,))
    claim(db, "second")
    assert db.value("select token from leases") == "second"


def test_the_clock_of_an_app_expires_no_lease() -> None:
    clock = Clock()
    with fresh(clock=clock) as db:
        begin(db, "demo")
        claim(db, "first")
        for moved in (86_400_000, -2 * 86_400_000):
            clock.now += moved
            assert db.rows("select run from resumable_runs") == []
            with pytest.raises(Conflict, match="409 run demo: another process works on it"):
                claim(db, "second")


def test_a_run_with_a_lease_in_force_is_not_resumable(db: engine.Database) -> None:
    begin(db, "demo")
    claim(db, "first")
    assert db.rows("select run from resumable_runs") == []
    db.execute("update leases set expires_at = expires_at - 31000")
    assert db.rows("select run from resumable_runs") == [{"run": "demo"}]


def test_a_dead_holder_is_replaced_at_once(db: engine.Database, tmp_path: Path) -> None:
    code = "from engine.system import identity; print(identity.this_process().to_json())"
    dead = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    db.insert(
        "verb_set", run="demo", path="run://demo", body="Go", attributes=f'{{"model":"{script(tmp_path, DONE)}"}}'
    )
    claim(db, "gone", holder=dead)
    assert db.resume("demo").status == 200


def test_a_holder_that_may_live_is_waited_for(db: engine.Database) -> None:
    begin(db, "demo")
    claim(db, "elsewhere")
    with pytest.raises(Conflict):
        db.resume("demo")


def test_a_lease_is_renewed_while_it_is_held() -> None:
    with fresh() as db:
        db.execute("update settings set value = '1' where name = 'lease_seconds'")
        begin(db, "demo")
        with Lease(db, "demo"):
            first = db.value("select expires_at from leases")
            wait_until(lambda: db.value("select expires_at from leases") > first)


def test_a_lease_is_renewed_where_the_file_could_not_be_opened_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    class Connection(apsw.Connection):
        def __init__(self, name: str, **more: Any) -> None:
            if not refused:  # as without a descriptor that is free
                refused.append(name)
                raise apsw.CantOpenError
            super().__init__(name, **more)

    with fresh() as db:
        db.execute("update settings set value = '1' where name = 'lease_seconds'")
        begin(db, "demo")
        monkeypatch.setattr("apsw.Connection", Connection)
        with Lease(db, "demo"):
            first = db.value("select expires_at from leases")
            wait_until(lambda: db.value("select expires_at from leases") > first)
        assert refused == [str(db.path)]


def test_who_loses_the_lease_learns_of_it() -> None:
    with fresh() as db:
        begin(db, "demo")
        with Lease(db, "demo") as lease:
            claim(db, "another", replaces=lease.token)
            assert lease.stopped.wait(300)
        assert db.value("select token from leases") == "another", "what belongs to another is left alone"


def test_a_file_that_is_removed_before_its_lease_is_renewed_does_not_come_back(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        begin(db, "demo")
        lease = Lease(db, "demo")
        for file in tmp_path.glob(f"{db.path.name}*"):
            file.unlink()
        Keeper(lease).keep()
        assert not db.path.exists()


def test_a_run_that_nobody_has_heard_of_cannot_be_leased(db: engine.Database) -> None:
    with pytest.raises(engine.NotFound, match="404 run 'nobody': there is no such run"):
        db.resume("nobody")


def test_runs_of_one_file_are_driven_side_by_side(tmp_path: Path) -> None:
    with fresh() as db:
        results: dict[str, int] = {}

        def drive(name: str) -> None:
            with engine.open(db.path) as own:
                answers = ['<set path="known://a">x</set><update status="102">on</update>'] * 2
                results[name] = own.run("Go", model=script(tmp_path, *answers, DONE), run=name).status

        threads = [threading.Thread(target=drive, args=(f"run{number}",)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {"run0": 200, "run1": 200, "run2": 200}


@pytest.mark.parametrize("delay", [0, 300], ids=["before it writes", "while the model answers"])
def test_a_driver_that_is_replaced_says_so(tmp_path: Path, delay: int) -> None:
    with fresh() as db:
        model = script(tmp_path, {"text": DONE, "delay_s": delay})

        def take_over(event: dict[str, Any]) -> None:
            if event["type"] == "turn":
                with engine.open(db.path) as other:
                    claim(other, "another", replaces=other.value("select token from leases"))

        with pytest.raises(LeaseLost, match="409 run demo: another process works on it now"):
            db.run("Go", model=model, run="demo", on_event=take_over)
        assert db.row("select token from leases") == {"token": "another"}
        assert db.value("select phase from turns") == "asking", "the run is the other's to go on with"


def test_a_driver_whose_run_was_taken_over_and_purged_says_so(tmp_path: Path) -> None:
    with fresh() as db:

        def purge(event: dict[str, Any]) -> None:
            if event["type"] == "turn":
                with engine.open(db.path) as other:
                    other.execute("delete from leases")
                    other.purge("demo")

        with pytest.raises(LeaseLost, match="409 run demo: another process wo"):
            db.run("Go", model=script(tmp_path, DONE), run="demo", on_event=purge)
        assert db.runs() == []


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("claim", "return"),
        ("keep", "call"),
        ("start", "return"),
        ("let_go", "call"),
        ("remove", "return"),
        ("stop", "call"),
        ("stop", "return"),
    ],
)
def test_an_interruption_leaves_no_lease(name: str, event: str) -> None:
    """It came while the lease was claimed or given back: the run could not be driven again while the process lived."""

    def here(frame: FrameType, now: str) -> bool:
        code = frame.f_code
        return (code.co_name, now) == (name, event) and code.co_filename.endswith(("lease.py", "lease_renewal.py"))

    with fresh() as db:
        begin(db, "demo")
        with interrupted(here), pytest.raises(KeyboardInterrupt), Lease(db, "demo"):
            pass
        assert db.value("select count(*) from leases") == 0
        wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("leases in")])
        with Lease(db, "demo"):
            pass


def test_an_interruption_that_comes_with_the_release_leaves_no_lease() -> None:
    with fresh() as db:
        begin(db, "demo")

        def here(frame: FrameType, event: str) -> bool:
            return event == "call" and frame.f_locals.get("target") == "_release_lease"

        with interrupted(here), pytest.raises(KeyboardInterrupt), Lease(db, "demo"):
            pass
        assert db.value("select count(*) from leases") == 0


def test_a_release_is_tried_again_where_the_file_is_locked() -> None:
    with fresh() as db, closing(apsw.Connection(str(db.path))) as other:
        begin(db, "demo")
        waits: list[int] = []

        def wait(number: int) -> bool:
            waits.append(number)
            if len(waits) == 1:
                return False
            other.execute("commit")
            return True

        with Lease(db, "demo"):
            other.execute("begin immediate")
            db.connection.set_busy_handler(wait)
        assert len(waits) == 2
        assert db.value("select count(*) from leases") == 0
