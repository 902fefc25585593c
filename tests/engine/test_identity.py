"""The identity of processes: what is proved alive, what is proved dead, and what stays unknown."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from timing import check_cost

from engine.errors import NotFound, ValidationError
from engine.system import identity
from engine.system.identity import ProcessIdentity, of, state, this_process

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "3600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(identity, "_PROC", tmp_path)
    identity._place.cache_clear()
    yield
    identity._place.cache_clear()


def test_this_process_is_alive() -> None:
    me = this_process()
    assert me.pid == os.getpid()
    assert me.boot_id
    assert me.started.isdigit()
    assert state(me) == "alive"


def test_json_round_trip_is_exact() -> None:
    me = this_process()
    assert ProcessIdentity.from_json(me.to_json()) == me
    assert "\n" not in me.to_json()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"boot_id":"a","pid":1}', "\x00", json.dumps({"pid": 1, "started": "1"})],
)
def test_malformed_json_is_a_validation_error(text: str) -> None:
    with pytest.raises(ValidationError, match="400 not the identity"):
        ProcessIdentity.from_json(text)


@pytest.mark.parametrize("pid", [0, -1, "1", True, 1.5, None])
def test_a_pid_that_could_name_a_group_is_a_validation_error(pid: object) -> None:
    text = json.dumps({"boot_id": "b", "pid": pid, "started": "1", "machine": "", "namespace": ""})
    with pytest.raises(ValidationError, match="not a process id"):
        ProcessIdentity.from_json(text)


def test_a_child_is_alive_until_it_is_killed(sleeper: subprocess.Popen[bytes]) -> None:
    child = of(sleeper.pid)
    assert state(child) == "alive"
    sleeper.kill()
    sleeper.wait()
    assert state(child) == "dead"


def test_a_zombie_is_dead_but_still_the_same_process(sleeper: subprocess.Popen[bytes]) -> None:
    child = of(sleeper.pid)
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert state(child) == "dead"
    assert identity.is_same_process(child)


def test_a_reused_pid_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    earlier = of(sleeper.pid)._replace(started="1")
    assert state(earlier) == "dead"
    assert not identity.is_same_process(earlier)


def test_an_earlier_boot_of_this_machine_is_dead() -> None:
    me = this_process()
    if not me.machine:
        pytest.skip("this machine has no id")
    assert state(me._replace(boot_id="00000000-0000-0000-0000-000000000000")) == "dead"


def test_another_machine_is_unknown() -> None:
    elsewhere = this_process()._replace(boot_id="00000000-0000-0000-0000-000000000000", machine="feed")
    assert state(elsewhere) == "unknown"
    assert state(elsewhere._replace(machine="")) == "unknown"


def test_another_pid_namespace_is_unknown() -> None:
    elsewhere = this_process()._replace(namespace="pid:[1]", started="1")
    assert state(elsewhere) == "unknown"


def test_without_proc_everything_is_unknown(without_proc: None) -> None:
    me = this_process()
    assert (me.pid, me.boot_id, me.started) == (os.getpid(), "", "")
    assert state(me) == "unknown"
    assert not identity.is_same_process(me)


def test_without_proc_a_recorded_identity_is_unknown(request: pytest.FixtureRequest) -> None:
    me = this_process()
    request.getfixturevalue("without_proc")
    assert state(me) == "unknown"


def test_no_such_process_is_not_found(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(NotFound, match=f"404 no process has the id {sleeper.pid}"):
        of(sleeper.pid)


def test_a_command_name_with_brackets_and_spaces_is_read_right(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to(sys.executable)
    process = subprocess.Popen([odd, "-c", "import time; time.sleep(3600)"])
    try:
        child = of(process.pid)
        assert child.started == of(process.pid).started
        assert int(child.started) >= int(this_process().started)
        assert state(child) == "alive"
    finally:
        process.kill()
        process.wait()


def test_asking_is_fast() -> None:
    me = this_process()
    check_cost(2, lambda: [state(me) for _ in range(200)])
