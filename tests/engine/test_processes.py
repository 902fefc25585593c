"""Commands as real processes: recorded before they act, watched, and ended with all they started."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.effects.processes import ProcessResult, clean_environment, kill_leftover, run_process
from engine.identity import ProcessIdentity, of, state


class Recorder:
    """Runs a command in a folder and keeps what the callbacks were given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.batches: list[tuple[int, str, float]] = []
        self.identity: ProcessIdentity | None = None

    def run(self, command: str, **options: Any) -> ProcessResult:
        options = {"cwd": self.folder, "timeout_s": 10, "on_start": self.start, **options}
        return run_process(command, on_output=self.output, **options)

    def start(self, identity: ProcessIdentity) -> None:
        self.identity = identity

    def output(self, channel: int, text: str) -> None:
        self.batches.append((channel, text, time.monotonic()))

    def text(self, channel: int) -> str:
        return "".join(text for number, text, _ in self.batches if number == channel)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def wait_for(claim: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "did not come about in time"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_channels_and_exit_code_are_kept_apart(recorder: Recorder) -> None:
    result = recorder.run("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.ended, result.message, result.truncated) == (3, "exited", "", False)
    assert (recorder.text(1), recorder.text(2)) == ("out\n", "err\n")
    assert 0 < result.duration_s < 5


def test_a_quick_command_is_not_held_up(recorder: Recorder) -> None:
    began = time.monotonic()
    for _ in range(10):
        recorder.run("true")
    assert time.monotonic() - began < 1.5


def test_the_command_reaches_bash_untouched(recorder: Recorder) -> None:
    recorder.run("""printf '%s|' "a b" 'c"d' $'e\\tf' "$#"; [[ x == x ]] && echo bash""")
    assert recorder.text(1) == 'a b|c"d|e\tf|0|bash\n'


def test_sh_is_used_where_bash_is_missing(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(recorder.folder))
    assert recorder.run("echo ${BASH_VERSION:-none}").exit_code == 0
    shell = os.path.basename(os.path.realpath("/bin/sh"))
    assert shell == "bash" or recorder.text(1) == "none\n"


def test_stdin_is_empty(recorder: Recorder) -> None:
    assert recorder.run("cat; readlink /proc/self/fd/0").exit_code == 0
    assert recorder.text(1) == "/dev/null\n"


def test_no_descriptor_of_the_engine_is_inherited(recorder: Recorder) -> None:
    recorder.run("cd /proc/self/fd && echo *")
    assert set(recorder.text(1).split()) <= {"0", "1", "2", "3"}


def test_it_runs_in_its_folder_and_session(recorder: Recorder) -> None:
    recorder.run("pwd; ps -o sid= -p $$ || cut -d' ' -f6 /proc/$$/stat")
    folder, session = recorder.text(1).split()
    assert folder == str(recorder.folder)
    assert recorder.identity is not None
    assert int(session) == recorder.identity.pid != os.getsid(0)


def test_start_is_recorded_before_the_command_acts(recorder: Recorder) -> None:
    seen: list[bool] = []

    def on_start(identity: ProcessIdentity) -> None:
        time.sleep(0.3)
        seen.append((recorder.folder / "effect").exists())
        seen.append(state(identity) == "alive")

    assert recorder.run("touch effect", on_start=on_start).exit_code == 0
    assert seen == [False, True]
    assert (recorder.folder / "effect").exists()


def test_the_recorded_identity_is_that_of_the_command(recorder: Recorder) -> None:
    recorder.run("echo $$")
    assert recorder.identity is not None
    assert int(recorder.text(1)) == recorder.identity.pid


def test_a_start_that_cannot_be_recorded_prevents_the_command(recorder: Recorder) -> None:
    started: list[ProcessIdentity] = []

    def on_start(identity: ProcessIdentity) -> None:
        started.append(identity)
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        recorder.run("touch effect", on_start=on_start)
    assert state(started[0]) == "dead"
    assert not (recorder.folder / "effect").exists()


def test_a_command_never_runs_when_its_engine_is_killed_before_release(recorder: Recorder) -> None:
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from engine.effects.processes import run_process

        def on_start(identity):
            print(identity.to_json(), flush=True)
            time.sleep(60)

        run_process("touch effect", cwd=Path(sys.argv[1]), timeout_s=10, on_start=on_start, on_output=print)
    """)
    engine = subprocess.Popen([sys.executable, "-c", script, recorder.folder], stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    child = ProcessIdentity.from_json(engine.stdout.readline())
    assert state(child) == "alive"
    engine.kill()
    engine.wait()
    engine.stdout.close()
    wait_for(lambda: state(child) == "dead")
    assert not (recorder.folder / "effect").exists()


def test_an_error_in_the_reader_ends_the_group(recorder: Recorder) -> None:
    def on_output(channel: int, text: str) -> None:
        raise RuntimeError(text)

    with pytest.raises(RuntimeError, match=r"\d+"):
        run_process(
            "sleep 60 & echo $!; wait",
            cwd=recorder.folder,
            timeout_s=10,
            on_start=recorder.start,
            on_output=on_output,
        )
    assert recorder.identity is not None
    assert state(recorder.identity) == "dead"


def test_a_time_out_ends_the_whole_group(recorder: Recorder) -> None:
    result = recorder.run("sleep 60 & echo $!; sleep 60", timeout_s=0.4)
    assert (result.ended, result.exit_code, result.message) == ("timed_out", None, "timed out after 0.4 s")
    assert 0.4 <= result.duration_s < 1.5
    wait_for(lambda: is_gone(int(recorder.text(1))))


def test_a_command_that_ignores_sigterm_is_killed_after_two_seconds(recorder: Recorder) -> None:
    began = time.monotonic()
    result = recorder.run("trap '' TERM; echo $$; while :; do sleep 0.1; done", timeout_s=0.3)
    assert result.ended == "timed_out"
    assert 2 < time.monotonic() - began < 4
    assert is_gone(int(recorder.text(1)))


def test_a_command_may_say_a_last_word_on_sigterm(recorder: Recorder) -> None:
    began = time.monotonic()
    result = recorder.run("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done", timeout_s=0.3)
    assert result.ended == "timed_out"
    assert recorder.text(1) == "cleaned\n"
    assert time.monotonic() - began < 2


def test_cancel_ends_it_at_once(recorder: Recorder) -> None:
    cancelled = threading.Event()
    timer = threading.Timer(0.3, cancelled.set)
    timer.start()
    began = time.monotonic()
    result = recorder.run("sleep 60", cancelled=cancelled)
    timer.join()
    assert (result.ended, result.exit_code, result.message) == ("cancelled", None, "cancelled")
    assert time.monotonic() - began < 1.5
    assert recorder.identity is not None
    assert state(recorder.identity) == "dead"


def test_a_cancelled_command_is_not_started(recorder: Recorder) -> None:
    cancelled = threading.Event()
    cancelled.set()
    result = recorder.run("touch effect", cancelled=cancelled)
    assert (result.ended, recorder.identity) == ("cancelled", None)
    assert not (recorder.folder / "effect").exists()


def test_a_command_cancelled_while_its_start_is_recorded_is_not_released(recorder: Recorder) -> None:
    cancelled = threading.Event()
    result = recorder.run("touch effect", cancelled=cancelled, on_start=lambda _: cancelled.set())
    assert result == ProcessResult(None, "cancelled", 0.0, "cancelled before it started")
    time.sleep(0.1)
    assert not (recorder.folder / "effect").exists()


def test_a_grandchild_that_holds_the_pipe_does_not_hold_the_engine(recorder: Recorder) -> None:
    began = time.monotonic()
    result = recorder.run("sleep 60 & echo $!; exit 4")
    assert time.monotonic() - began < 2
    assert (result.ended, result.exit_code) == ("exited", 4)
    assert "left running" in result.message
    wait_for(lambda: is_gone(int(recorder.text(1))))


def test_a_grandchild_in_a_session_of_its_own_does_not_hold_the_engine(recorder: Recorder) -> None:
    began = time.monotonic()
    recorder.run("setsid sleep 4 & exit 0")
    assert time.monotonic() - began < 2


def test_a_background_process_without_our_pipes_lives_on(recorder: Recorder) -> None:
    result = recorder.run("sleep 60 >/dev/null 2>&1 & echo $!")
    pid = int(recorder.text(1))
    assert (result.exit_code, result.message) == (0, "")
    assert not is_gone(pid)
    os.kill(pid, signal.SIGKILL)


def test_a_silent_command_is_waited_for(recorder: Recorder) -> None:
    result = recorder.run("exec >/dev/null 2>&1; sleep 0.3; exit 7")
    assert (result.exit_code, result.ended) == (7, "exited")
    assert result.duration_s >= 0.3


def test_output_comes_while_the_command_runs_in_few_batches(recorder: Recorder) -> None:
    recorder.run("for i in {1..60}; do echo $i; sleep 0.01; done")
    assert recorder.text(1) == "".join(f"{i}\n" for i in range(1, 61))
    times = [at for *_, at in recorder.batches]
    assert 2 <= len(times) <= 10
    assert times[-1] - times[0] > 0.15


def test_large_output_is_cut_and_still_read_to_its_end(recorder: Recorder) -> None:
    result = recorder.run("head -c 5000000 /dev/zero | tr '\\0' x; echo end >&2; exit 2", max_output=100_000)
    assert (result.exit_code, result.truncated) == (2, True)
    assert recorder.text(1) == "x" * 100_000
    assert recorder.text(2) == "end\n"
    assert max(len(text) for _, text, _ in recorder.batches) <= 65_536


def test_output_of_exactly_the_limit_is_not_truncated(recorder: Recorder) -> None:
    result = recorder.run("printf 1234567890", max_output=10)
    assert (recorder.text(1), result.truncated) == ("1234567890", False)


def test_a_cut_leaves_no_half_character(recorder: Recorder) -> None:
    result = recorder.run("printf 'aé'", max_output=2)
    assert (recorder.text(1), result.truncated) == ("a", True)


def test_characters_split_over_two_writes_are_whole(recorder: Recorder) -> None:
    recorder.run(r"printf '\xe2\x82'; sleep 0.3; printf '\xac!'")
    assert recorder.text(1) == "€!"


def test_bytes_that_are_no_text_are_replaced(recorder: Recorder) -> None:
    recorder.run(r"printf 'a\xffb\0c\xe2'")
    assert recorder.text(1) == "a\ufffdb\ufffdc\ufffd"


def test_a_signal_is_an_exit_code_above_128(recorder: Recorder) -> None:
    result = recorder.run("kill -9 $$")
    assert (result.exit_code, result.ended, result.message) == (137, "exited", "killed by signal 9")


def test_a_missing_folder_fails_to_start(recorder: Recorder) -> None:
    result = recorder.run("true", cwd=recorder.folder / "none")
    assert (result.ended, result.exit_code) == ("failed_to_start", None)
    assert "No such file" in result.message
    assert recorder.identity is None


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800", "# " + "x" * 200_000])
def test_a_command_the_system_refuses_fails_to_start(recorder: Recorder, command: str) -> None:
    assert recorder.run(command).ended == "failed_to_start"


def test_secrets_are_not_in_the_environment(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = ("OPENAI_API_KEY", "github_token", "MySecretThing", "DB_PASSWORD", "AWS_CREDENTIALS_FILE")
    for name in secret:
        monkeypatch.setenv(name, "hush-hush")
    monkeypatch.setenv("HARMLESS", "shown")
    recorder.run("env")
    assert "hush-hush" not in recorder.text(1)
    assert "HARMLESS=shown\n" in recorder.text(1)


def test_a_given_environment_is_used_as_it_is(recorder: Recorder) -> None:
    recorder.run('echo "$MY_TOKEN-$HOME"', environment={"MY_TOKEN": "given"})
    assert recorder.text(1) == "given-\n"


def test_clean_environment_leaves_its_input_alone() -> None:
    environ = {"A_Key": "1", "PATH": "/bin"}
    assert clean_environment(environ) == {"PATH": "/bin"}
    assert environ == {"A_Key": "1", "PATH": "/bin"}


def test_a_leftover_is_killed_with_its_group(recorder: Recorder) -> None:
    process = subprocess.Popen(
        ["bash", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    assert kill_leftover(of(process.pid))
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    wait_for(lambda: is_gone(grandchild))


def test_a_process_that_reuses_the_pid_is_not_killed() -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        recorded = of(process.pid)
        assert not kill_leftover(replace(recorded, started="1"))
        assert not kill_leftover(replace(recorded, boot_id="00000000-0000-0000-0000-000000000000"))
        assert not kill_leftover(replace(recorded, namespace="pid:[1]"))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_process_that_leads_no_group_is_not_killed() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert not kill_leftover(of(process.pid))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_leftover_that_is_gone_is_left_alone(recorder: Recorder) -> None:
    recorder.run("true")
    assert recorder.identity is not None
    assert not kill_leftover(recorder.identity)
