"""However the engine ends, the command that it runs ends too, with all that it started.

Each way is tried on a real process, with a command that starts a child in its group, one in a session of its own, and a
daemon (two forks, no output).

spec: @guarded_commands
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from driving import heed_signals
from engine_cli import ENGINE, SECONDS, environment, script
from sandboxed import expect_gone, is_gone, require_sandbox, sleepers
from timing import wait_until

COMMAND = """
echo $$ > pids.1
(echo $BASHPID > pids.2; exec sleep 300) &
setsid bash -c 'echo $$ > pids.3; exec sleep 300' &
( (setsid bash -c 'echo $$ > pids.4; exec sleep 300' </dev/null >/dev/null 2>&1 &) & )
trap '' TERM
while [ ! -s pids.2 ] || [ ! -s pids.3 ] || [ ! -s pids.4 ]; do sleep 0.01; done
touch ready
while :; do sleep 0.1; done
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds sessions of their own")


def start(folder: Path, model: str, sandbox: str = "off") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*ENGINE, "run", "--yolo", "--sandbox", sandbox, "--model", model, "--run", "demo", "Go"],
        cwd=folder,
        env=environment(folder.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=heed_signals,
    )


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL", "twice SIGINT"])
def test_a_signal_to_the_engine_ends_all_that_a_command_started(
    workspace_dir: Path, tmp_path: Path, number: str
) -> None:
    model = script(tmp_path / "s.jsonl", [f"<sh>{COMMAND}</sh>"])
    process = start(workspace_dir, model)
    try:
        wait_until((workspace_dir / "ready").exists)
        pids = [int((workspace_dir / f"pids.{index}").read_text()) for index in range(1, 5)]
        assert not any(is_gone(pid) for pid in pids)
        for _ in number.split():  # once, or twice
            process.send_signal(getattr(signal, number.split()[-1]))
        process.wait(SECONDS)
        expect_gone(*pids)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL"])
def test_a_signal_to_the_engine_ends_all_of_a_sandbox(workspace_dir: Path, tmp_path: Path, number: str) -> None:
    require_sandbox()
    seconds = f"300.{tmp_path.stat().st_ino}"
    model = script(tmp_path / "s.jsonl", [f"<sh>{COMMAND.replace('300', seconds)}</sh>"])
    process = start(workspace_dir, model, "require")
    try:
        wait_until((workspace_dir / "ready").exists)
        wait_until(lambda: len(sleepers(seconds)) == 3, SECONDS)  # each tells its number, then becomes one
        process.send_signal(getattr(signal, number))
        process.wait(SECONDS)
        wait_until(lambda: not sleepers(seconds), SECONDS)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("files", [0, 200])
def test_a_command_that_kills_its_guard_ends_and_is_told(db: object, tmp_path: Path, files: int) -> None:
    """However many files the engine has open: the command has none of them, which would tell that its guard is there."""
    import engine

    assert isinstance(db, engine.Database)
    model = script(
        tmp_path / "s.jsonl",
        ["<sh>sleep 300 & echo $! > pid; kill -9 $PPID; sleep 300</sh>", '<update status="200">Done.</update>'],
    )
    (tmp_path / "root").mkdir()
    with ExitStack() as opened:
        for _ in range(files):
            opened.enter_context(open(os.devnull, "rb"))
        db.run("Go", run="demo", model=model, root=tmp_path / "root", yolo=True, sandbox="off")
    assert db.value("select outcome from command_results where action = 'sh'") == "exit:137"
    expect_gone((tmp_path / "root" / "pid").read_text())


def test_signals_of_a_command_to_its_guard_change_nothing(db: object, tmp_path: Path) -> None:
    import engine

    assert isinstance(db, engine.Database)
    model = script(
        tmp_path / "s.jsonl",
        ["<sh>kill $PPID; kill -HUP $PPID; kill -INT $PPID; exit 3</sh>", '<update status="200">Done.</update>'],
    )
    db.run("Go", run="demo", model=model, root=tmp_path, yolo=True, sandbox="off")
    assert db.value("select outcome from command_results where action = 'sh'") == "exit:3"
