"""Commands as real processes: recorded before they act, watched, and ended with all they started."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from timing import check_delay, wait_until

from engine.processes import channels, guarded
from engine.processes import shell as processes
from engine.processes.channels import BATCH_SECONDS
from engine.processes.shell import ProcessResult, kill_leftover, run_process
from engine.system.identity import ProcessIdentity, of, state
from engine.system.secrets import clean_environment

LONG = 600
"""Seconds that sleepers sleep; what does not wait for them takes less than half of it on the busiest machine."""


class Recorder:
    """Runs a command in a folder, keeps what the callbacks were given and the seconds `elapsed` until it returned."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.batches: list[tuple[int, str]] = []
        self.identity: ProcessIdentity | None = None
        self.elapsed = 0.0
        self.heard = threading.Event()

    def run(self, command: str, **options: Any) -> ProcessResult:
        options = {"cwd": self.folder, "timeout_s": LONG, "on_start": self.start, **options}
        began = time.monotonic()
        try:
            return run_process(command, on_output=self.output, **options)
        finally:
            self.elapsed = time.monotonic() - began

    def start(self, identity: ProcessIdentity) -> None:
        self.identity = identity

    def output(self, channel: int, text: str) -> None:
        self.batches.append((channel, text))
        self.heard.set()

    def text(self, channel: int) -> str:
        return "".join(text for number, text in self.batches if number == channel)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def state_and_group(pid: int) -> tuple[str, int]:
    """The state of a process, X where there is none, and its process group."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X", 0
    return found[0], int(found[2])


def is_gone(pid: int) -> bool:
    return state_and_group(pid)[0] in "ZX"


def living(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if not is_gone(pid) and state_and_group(pid)[1] == group]


def test_channels_and_exit_code_are_kept_apart(recorder: Recorder) -> None:
    result = recorder.run("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.ended, result.message, result.left_out) == (3, "exited", "", 0)
    assert (recorder.text(1), recorder.text(2)) == ("out\n", "err\n")
    assert result.duration_s > 0


def test_a_quick_command_is_not_held_up(recorder: Recorder) -> None:
    def seconds() -> float:
        recorder.run("true")
        return recorder.elapsed

    check_delay(2, seconds)


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


def test_no_descriptor_of_the_engine_is_inherited_however_many_it_has(recorder: Recorder) -> None:
    with ExitStack() as opened:
        for _ in range(200):
            opened.enter_context(open(os.devnull, "rb"))
        recorder.run("cd /proc/self/fd && echo *")
        assert set(recorder.text(1).split()) <= {"0", "1", "2", "3"}


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


def test_a_guard_that_is_suspended_does_not_hold_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "_LAST_SECONDS", 0.1)
    command = guarded.Guarded("exit 3", tmp_path, clean_environment(os.environ))
    stat = Path(f"/proc/{command.identity.pid}/stat").read_text()
    guard = int(stat.rpartition(")")[2].split()[1])
    command.release()
    wait_until(command.ended)
    os.kill(guard, signal.SIGSTOP)
    command.let_go()
    closing = threading.Thread(target=command.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    assert command.code == 3


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
        from engine.processes.shell import run_process

        def on_start(identity):
            print(identity.to_json(), flush=True)
            time.sleep(600)

        run_process("touch effect", cwd=Path(sys.argv[1]), timeout_s=600, on_start=on_start, on_output=print)
    """)
    engine = subprocess.Popen([sys.executable, "-c", script, recorder.folder], stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    child = ProcessIdentity.from_json(engine.stdout.readline())
    assert state(child) == "alive"
    engine.kill()
    engine.wait()
    engine.stdout.close()
    wait_until(lambda: state(child) == "dead")
    assert not (recorder.folder / "effect").exists()


def test_an_error_in_the_reader_ends_the_group(recorder: Recorder) -> None:
    def on_output(channel: int, text: str) -> None:
        raise RuntimeError(text)

    with pytest.raises(RuntimeError, match=r"\d+"):
        run_process(
            "sleep 600 & echo $!; wait",
            cwd=recorder.folder,
            timeout_s=LONG,
            on_start=recorder.start,
            on_output=on_output,
        )
    assert recorder.identity is not None
    assert state(recorder.identity) == "dead"


def test_a_time_out_ends_the_whole_group(recorder: Recorder) -> None:
    result = recorder.run("sleep 600 & sleep 600", timeout_s=0.4)
    assert (result.ended, result.exit_code, result.message) == ("timed_out", None, "timed out after 0.4 s")
    assert 0.4 <= recorder.elapsed < LONG / 2
    assert recorder.identity is not None
    group = recorder.identity.pid
    wait_until(lambda: not living(group))


def test_a_command_that_ignores_sigterm_is_killed_after_two_seconds(recorder: Recorder) -> None:
    command = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
    assert recorder.run(command, cancelled=recorder.heard).ended == "cancelled"
    assert 2 < recorder.elapsed < LONG / 2
    assert is_gone(int(recorder.text(1)))


def test_a_command_may_say_a_last_word_on_sigterm(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_TERMINATE_SECONDS", 600.0)
    command = "trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    assert recorder.run(command, cancelled=recorder.heard).ended == "cancelled"
    assert recorder.text(1) == "ready\ncleaned\n"


def test_cancel_ends_it_at_once(recorder: Recorder) -> None:
    result = recorder.run("echo ready; sleep 600", cancelled=recorder.heard)
    assert (result.ended, result.exit_code, result.message) == ("cancelled", None, "cancelled")
    assert recorder.elapsed < LONG / 2
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
    result = recorder.run("sleep 600 & echo $!; exit 4")
    assert recorder.elapsed < LONG / 2
    assert (result.ended, result.exit_code) == ("exited", 4)
    assert "left running" in result.message
    wait_until(lambda: is_gone(int(recorder.text(1))))


def test_a_grandchild_in_a_session_of_its_own_does_not_hold_the_engine(recorder: Recorder) -> None:
    recorder.run("setsid sleep 600 & echo $!; exit 0")
    assert recorder.elapsed < LONG / 2
    wait_until(lambda: is_gone(int(recorder.text(1))))


def test_a_background_process_without_our_pipes_lives_on(recorder: Recorder) -> None:
    result = recorder.run("sleep 600 >/dev/null 2>&1 & echo $!")
    pid = int(recorder.text(1))
    assert (result.exit_code, result.message) == (0, "")
    assert not is_gone(pid)
    os.kill(pid, signal.SIGKILL)


def test_a_silent_command_is_waited_for(recorder: Recorder) -> None:
    result = recorder.run("exec >/dev/null 2>&1; sleep 0.3; exit 7")
    assert (result.exit_code, result.ended) == (7, "exited")
    assert result.duration_s >= 0.3


def test_output_comes_while_the_command_runs(recorder: Recorder) -> None:
    heard = recorder.folder / "heard"

    def on_output(channel: int, text: str) -> None:
        recorder.output(channel, text)
        heard.touch()

    command = "echo one; until [ -e heard ]; do sleep 0.01; done; echo two"
    result = run_process(command, cwd=recorder.folder, timeout_s=LONG, on_start=recorder.start, on_output=on_output)
    assert result.ended == "exited"
    assert recorder.batches == [(1, "one\n"), (1, "two\n")]


def test_output_comes_in_few_batches(recorder: Recorder) -> None:
    recorder.run("for i in {1..60}; do echo $i; sleep 0.01; done")
    assert recorder.text(1) == "".join(f"{i}\n" for i in range(1, 61))
    assert len(recorder.batches) <= 2 + recorder.elapsed / BATCH_SECONDS


def test_of_a_large_output_the_beginning_and_the_end_are_kept(recorder: Recorder) -> None:
    everything: list[int] = []
    command = "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo last; echo end >&2; exit 2"
    result = recorder.run(command, max_output=100_000, on_bytes=lambda channel, data: everything.append(len(data)))
    assert (result.exit_code, result.left_out, sum(everything)) == (2, 4_900_011, 5_000_015)
    head, marker, tail = recorder.text(1).split("\n", 1)[1].split("\n", 2)
    assert recorder.text(1).startswith("first\nxxx")
    assert (len(head), marker, len(tail)) == (50_000 - 6, "[… 4,900,011 bytes left out …]", 50_000)
    assert tail.endswith("xxxlast\n")
    assert recorder.text(2) == "end\n"
    assert max(len(text) for _, text in recorder.batches) <= 65_536


def test_output_of_exactly_the_limit_is_whole(recorder: Recorder) -> None:
    result = recorder.run("printf 123456789ä", max_output=11)
    assert (recorder.text(1), result.left_out) == ("123456789ä", 0)


def test_a_cut_leaves_no_half_character(recorder: Recorder) -> None:
    result = recorder.run("printf 'aé€€€ézz'", max_output=6)
    assert (recorder.text(1), result.left_out) == ("aé\n[… 11 bytes left out …]\nzz", 11)


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
        ["bash", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    assert kill_leftover(of(process.pid))
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    wait_until(lambda: is_gone(grandchild))


def test_a_process_that_reuses_the_pid_is_not_killed() -> None:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        recorded = of(process.pid)
        assert not kill_leftover(recorded._replace(started="1"))
        assert not kill_leftover(recorded._replace(boot_id="00000000-0000-0000-0000-000000000000"))
        assert not kill_leftover(recorded._replace(namespace="pid:[1]"))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_process_that_leads_no_group_is_not_killed() -> None:
    process = subprocess.Popen(["sleep", "600"])
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


def test_the_frames_of_a_progress_bar_are_one_line(recorder: Recorder) -> None:
    """Each was a line of the packet, with its escape sequences."""
    command = r"for i in 1 2 3 4 5; do printf '\r\033[32m%d of 5\033[0m' $i; sleep 0.05; done; echo; echo end >&2"
    kept: list[bytes] = []
    recorder.run(command, on_bytes=lambda _, data: kept.append(data))
    assert (recorder.text(1), recorder.text(2)) == ("5 of 5\n", "end\n")
    assert b"".join(kept).count(b"\x1b[32m") == 5


def test_a_sequence_and_a_character_that_come_in_pieces_are_whole(recorder: Recorder) -> None:
    """`on_bytes` says when a piece was read, so that the next one comes alone."""
    pieces = [r"a\033", "[3", r"1mb\303", r"\251\r", r"\nc\033]0;t", r"\007d"]
    waits = "".join(f"printf '{piece}'; until [ -e {i} ]; do sleep 0.01; done; " for i, piece in enumerate(pieces))
    sizes = [len(b"a\x1b"), len(b"[3"), len(b"1mb\xc3"), len(b"\xa9\r"), len(b"\nc\x1b]0;t"), len(b"\x07d")]
    ends = list(accumulate(sizes))
    read: list[int] = []

    def take(_: int, data: bytes) -> None:
        read.append(len(data))  # the shell may write a piece in two parts
        if sum(read) in ends:
            (recorder.folder / str(ends.index(sum(read)))).touch()

    recorder.run(waits, on_bytes=take)
    assert set(ends) <= set(accumulate(read))
    assert recorder.text(1) == "abé\ncd"


def test_a_prompt_without_a_line_end_is_passed_on_while_the_command_runs(recorder: Recorder) -> None:
    def answer() -> None:
        recorder.heard.wait(LONG)
        (recorder.folder / "go").touch()

    thread = threading.Thread(target=answer)
    thread.start()
    recorder.run("printf 'name: '; until [ -e go ]; do sleep 0.05; done; echo x")
    thread.join()
    assert "".join(text for _, text in recorder.batches[:1]) == "name: "
    assert recorder.text(1) == "name: x\n"


def test_what_is_redrawn_for_hours_is_passed_on_now_and_then(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "_REDRAWN_SECONDS", 0.1)
    recorder.run(
        r"i=0; until [ -e go ]; do i=$((i+1)); printf '\r%d' $i; sleep 0.02; done", follows=True, **going(recorder)
    )
    frames = recorder.text(1).split("\n")
    assert len(frames) > 1
    assert frames == sorted(frames, key=int)


def going(recorder: Recorder) -> dict[str, Any]:
    """Has a command end that waits for the file `go`, once it was heard twice."""

    def on_bytes(_: int, __: bytes) -> None:
        if len(recorder.batches) > 1:
            (recorder.folder / "go").touch()

    return {"on_bytes": on_bytes}


@pytest.mark.parametrize(
    "command", ["head -c 10000000 /dev/zero | tr '\\0' '\\r'", r"printf '\033]'; head -c 3000000 /dev/zero"]
)
def test_output_that_shows_nothing_is_empty(recorder: Recorder, command: str) -> None:
    result = recorder.run(command, max_output=10_000)
    assert result.exit_code == 0
    assert len(recorder.text(1)) < 11_000
