"""Ctrl-C, SIGTERM and SIGHUP on a real process: the first stops the driving, so that a resume goes on; the second ends the
process; the file is sound.

spec: @interruption
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from audit import audit
from driving import begin, heed_signals
from engine_cli import ENGINE, SECONDS, database, engine, environment, run_command, script
from fresh import fresh
from sandboxed import expect_gone
from terminal import OpenTerminal
from timing import wait_until

import engine as library
from engine.driving.lease import Lease
from engine.terminal.driver import drive
from engine.terminal.interrupt import tell

Started = Callable[..., subprocess.Popen[str]]

THINKING: list[str | Mapping[str, Any]] = [{"text": '<update status="200">Late.</update>', "delay_s": 3600}]
PATIENT = [
    sys.executable,
    "-c",
    f"from engine.processes import shell as processes; processes._TERMINATE_SECONDS = 3600; {ENGINE[2]}",
]
"""The command, which asks commands to end for so long before it kills them."""


@pytest.fixture
def start(folder: Path) -> Iterator[Started]:
    """Starts `engine` in the folder without waiting for it; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, command: Sequence[str] = ENGINE, **extra: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=folder,
            env=environment(folder.parent, **extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for(folder: Path, query: str) -> None:
    """Wait until a query on the folder's database gives something true."""

    def found() -> object:
        with contextlib.suppress(library.EngineError), library.open(database(folder)) as db:
            return db.value(query)

    wait_until(found)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_prompt_to_be_resumed(
    folder: Path, tmp_path: Path, start: Started, number: signal.Signals
) -> None:
    process = start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=SECONDS)
    assert (process.returncode, stdout) == (130, "")
    assert "stopping" in stderr
    assert (
        "interrupted before the answer arrived; the model will be asked again; to continue: engine resume demo"
        in stderr
    )
    assert json.loads(engine(folder, "runs", "--json").stdout)[0]["status"] == 102
    script(tmp_path / "s.jsonl", ['<update status="200">Resumed.</update>'])
    done = engine(folder, "resume", "demo")
    assert (done.returncode, done.stdout) == (0, "Resumed.\n")
    again = engine(folder, "resume")
    assert (again.returncode, again.stdout) == (7, "")
    assert "nothing to resume" in again.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_prompts_that_nobody_drives_any_more_are_named(
    folder: Path, tmp_path: Path, start: Started, number: signal.Signals
) -> None:
    """They had been told that they come next, and only a resume named them."""
    process = start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    assert engine(folder, "run", "--run", "demo", "And this").returncode == 6
    for look in ("runs", "show", "log"):
        assert "nobody drives it" not in engine(folder, look).stderr
    assert json.loads(engine(folder, "runs", "--json").stdout)[0]["resumable"] is False
    process.send_signal(number)
    _, stderr = process.communicate(timeout=SECONDS)
    assert "; 1 prompt is queued" in stderr or number == signal.SIGKILL
    for look in ("runs", "show", "log"):
        said = "demo: no process works on it, 2 prompts wait; to continue: engine resume demo\n"
        assert engine(folder, look).stderr == said
    assert json.loads(engine(folder, "runs", "--json").stdout)[0]["resumable"] is True
    assert json.loads(engine(folder, "show", "--json").stdout)["resumable"] is True
    assert "\nqueued\n" in engine(folder, "show").stdout
    script(tmp_path / "s.jsonl", ['<update status="200">Resumed.</update>'] * 2)
    assert engine(folder, "resume", "demo").returncode == 0
    assert engine(folder, "runs").stderr == ""


def test_a_terminal_that_is_closed_stops_the_run(folder: Path, tmp_path: Path, open_terminal: OpenTerminal) -> None:
    """What could not be said any more was an error, by which the run ended instead."""
    terminal = open_terminal("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    assert terminal.hang_up() == 130
    assert json.loads(engine(folder, "runs", "--json").stdout)[0]["status"] == 102


def test_a_second_hangup_is_ignored(folder: Path, tmp_path: Path, start: Started) -> None:
    """The system tells of a terminal that is gone, and the shell does."""
    process = start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    for _ in range(3):
        process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=SECONDS) == 130
    assert json.loads(engine(folder, "runs", "--json").stdout)[0]["status"] == 102


def test_an_interrupted_run_takes_up_its_prompt_before_the_next(folder: Path, tmp_path: Path, start: Started) -> None:
    process = start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    process.send_signal(signal.SIGINT)
    process.wait(timeout=SECONDS)
    script(tmp_path / "s.jsonl", ["First.", "Second."])
    assert engine(folder, "run", "--run", "demo", "Go on").stdout == "Second.\n"
    rows = json.loads(engine(folder, "sql", "--json", "select status, answer from loop_list").stdout)
    assert rows == [{"status": 200, "answer": "First."}, {"status": 200, "answer": "Second."}]


def test_ctrl_c_ends_the_command_that_runs(folder: Path, tmp_path: Path, start: Started) -> None:
    model = script(tmp_path / "s.jsonl", ['<sh>echo $$ > pid; sleep 300</sh><update status="102">slept</update>'])
    process = start("run", "--yolo", "--sandbox", "off", "--model", model, "Sleep")
    wait_for(folder, "select 1 from effects where state = 'started'")
    wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    expect_gone((folder / "pid").read_text())
    log = json.loads(engine(folder, "log", "--json").stdout)
    assert [row["outcome"] for row in log if row["action"] == "sh"] == ["interrupted"]


def test_a_second_ctrl_c_ends_the_process_at_once(folder: Path, tmp_path: Path, start: Started) -> None:
    # the command ignores being asked to end, and is given more time than that: until then it is not stopped cleanly
    model = script(
        tmp_path / "s.jsonl", ["<sh>trap '' TERM; touch ready; sleep 300</sh><update status=\"102\">slept</update>"]
    )
    process = start("run", "--yolo", "--model", model, "--run", "demo", "Sleep", command=PATIENT)
    wait_until((folder / "ready").exists)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("stopping" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGINT
    audit(database(folder))
    # the file is as a kill leaves it: the next driver takes up what was cut off
    (tmp_path / "s.jsonl").write_text('""\n"<update status=\\"200\\">After.</update>"\n', encoding="utf-8")
    assert engine(folder, "resume").stdout == "After.\n"
    log = json.loads(engine(folder, "log", "--json").stdout)
    assert [row["outcome"] for row in log if row["action"] == "sh"] == ["interrupted"]


def test_ctrl_c_before_the_command_line_is_read_ends_without_a_traceback(folder: Path) -> None:
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from engine.cli.main import main; "
        "sys.setprofile(lambda frame, *_: frame.f_code.co_name == 'get_command' and signal.raise_signal(2)); "
        "sys.exit(main(['runs']))"
    )
    done = run_command(folder, sys.executable, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["engine.cli.main", "typer"])
def test_ctrl_c_while_the_command_is_imported_ends_it_without_a_traceback(folder: Path, module: str) -> None:
    program = (
        "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.argv[1:] = ['runs']; "
        f"sys.addaudithook(lambda event, about: event == 'import' and about[0] == {module!r} and signal.raise_signal(2)); "
        "runpy.run_module('engine')"
    )
    done = run_command(folder, sys.executable, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_when_all_is_done_ends_without_a_traceback(folder: Path) -> None:
    program = (
        "import atexit, runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "atexit.register(signal.raise_signal, 2); sys.argv[1:] = ['runs', '--json']; runpy.run_module('engine')"
    )
    engine(folder, "init")
    done = run_command(folder, sys.executable, "-c", program)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_a_killed_run_is_resumed_at_once(folder: Path, tmp_path: Path, start: Started) -> None:
    process = start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    process.kill()
    process.communicate()
    script(tmp_path / "s.jsonl", ['<update status="200">Resumed.</update>'])
    done = engine(folder, "resume")
    assert (done.returncode, done.stdout) == (0, "Resumed.\n")


def test_abort_reaches_a_run_in_another_process(folder: Path, tmp_path: Path, start: Started) -> None:
    process = start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    assert engine(folder, "run", "--run", "demo", "And this").returncode == 6
    assert engine(folder, "abort", "demo").returncode == 0
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 4
    assert said.endswith("1 prompt still queued; to run the next prompt: engine resume demo\n")


def test_a_run_that_is_driven_elsewhere_is_refused(folder: Path, tmp_path: Path, start: Started) -> None:
    start("run", "--model", script(tmp_path / "s.jsonl", THINKING), "--run", "demo", "Think")
    wait_for(folder, "select 1 from turns where phase = 'asking'")
    done = engine(folder, "resume", "demo")
    assert (done.returncode, done.stdout) == (1, "")
    assert "demo" in done.stderr
    # a prompt is not refused: who drives the run takes it up
    done = engine(folder, "run", "--run", "demo", "--json", "And this")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (6, 100)
    assert "another process works on demo and runs this prompt next" in done.stderr
    with library.open(database(folder), read_only=True) as db:
        assert db.rows("select loop, status from loop_list") == [{"loop": 1, "status": 102}, {"loop": 2, "status": 100}]
    engine(folder, "abort", "demo")


def test_a_reader_that_stops_early_is_no_error(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--model", script(tmp_path / "s.jsonl", ['<update status="200">Yes.</update>']), "Go")
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) select i from n"
    line = " ".join(f"'{part}'" for part in [*ENGINE, "sql", "--limit", "0", numbers])
    done = run_command(folder, "bash", "-c", f"{line} | head -n 1")
    assert (done.stdout, done.stderr) == ("i\n", "")


def test_a_prompt_that_another_process_has_taken_up_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the giving of a prompt and the driving another process may come to it, or to its end: that is no error."""
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    with fresh() as db:
        begin(db, "demo", model=script(tmp_path / "s.jsonl", ['<update status="200">Done.</update>'] * 2))

        def drives_too() -> tuple[int, str, str]:
            with library.open(db.path) as other, pytest.raises(typer.Exit) as end:
                drive(other, "demo", 1, given=None)
            return end.value.exit_code, *capsys.readouterr()

        told: list[tuple[int, str, str]] = []
        db.run("Go", run="demo", on_event=lambda event: told.append(drives_too()) if event["type"] == "turn" else None)
        code, _, said = told[0]
        assert code == 6
        assert "another process works on demo and runs this prompt now" in said
        db.start("Go on", run="demo")
        with Lease(db, "demo"):
            assert drives_too()[:2] == (0, "Done.\n")


def test_an_output_that_is_full_is_not_given_up() -> None:
    """It led nowhere from then on: how to go on with the run was said to nobody."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, bytes(4096)):
            pass
    tell(writer, b"stopping")
    while len(os.read(reader, 1_000_000)) == 1_000_000:
        pass
    assert os.write(writer, b"how to go on") == 12
    assert os.read(reader, 100) == b"how to go on"
    os.close(reader)
    tell(writer, b"stopping")
    assert os.write(writer, b"to nobody") == 9
    os.close(writer)
