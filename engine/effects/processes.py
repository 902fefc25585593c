"""Runs a shell command: its start is recorded before it can act, and it is always ended.

The child starts blocked: a small shell waits for one line from this process before it executes the command. So the start is
committed first, and where the engine dies in between, the command never runs.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.effects.channels import BATCH_BYTES, Channel, OnOutput
from engine.errors import NotFound
from engine.identity import ProcessIdentity, is_same_process, of, process_stat

Ended = Literal["exited", "timed_out", "cancelled", "failed_to_start"]

_GATE = 'read -r _ || exit 125; exec "$@" </dev/null'
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_TICK_SECONDS = 0.05
_EXIT_SECONDS = 0.005
_TERMINATE_SECONDS = 2.0
_LINGER_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a command ended after `duration_s` seconds of running.

    `exit_code` is 0-255 where it `exited` (128 + N where signal N killed it), else None. `truncated` says whether output
    above the limit was dropped. `message` is for people and may be empty.
    """

    exit_code: int | None
    ended: Ended
    duration_s: float
    message: str = ""
    truncated: bool = False


def run_process(
    command: str,
    *,
    cwd: Path,
    timeout_s: float,
    on_start: Callable[[ProcessIdentity], None],
    on_output: OnOutput,
    cancelled: threading.Event | None = None,
    environment: Mapping[str, str] | None = None,
    max_output: int = 1_000_000,
) -> ProcessResult:
    """Run `command` in bash (sh where there is none) in the folder `cwd` for at most `timeout_s` seconds.

    `on_start` is called with the identity of the process before the command can act, `on_output` with the channel (1
    stdout, 2 stderr) and text. Both run in the calling thread. At most `max_output` bytes of each channel are passed on.
    The command gets `environment`, by default this process's own without secrets.

    The process group is ended after the time-out or when `cancelled` is set. Processes that outlive the shell and hold its
    output open are ended too; a background process that has closed its output stays. An error of a callback ends the
    command and is raised. A command that cannot start is a result, not an error.
    """
    cancelled = cancelled or threading.Event()
    environment = clean_environment(os.environ) if environment is None else environment
    if cancelled.is_set():
        return ProcessResult(None, "cancelled", 0.0, "cancelled before it started")
    try:
        process = _start_blocked(command, cwd, environment)
    except (OSError, ValueError) as error:
        return ProcessResult(None, "failed_to_start", 0.0, f"cannot start the command in {str(cwd)!r}: {error}")
    running = _Running(process, on_output, max_output)
    try:
        on_start(_identity_of(process.pid))
        if cancelled.is_set():
            return ProcessResult(None, "cancelled", 0.0, "cancelled before it started")
        return running.result(timeout_s, cancelled)
    finally:
        running.close()


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without variables whose names look like secrets, so that no command sees a provider's key."""
    return {name: value for name, value in environ.items() if not any(w in name.upper() for w in _SECRET_WORDS)}


def kill_leftover(identity: ProcessIdentity) -> bool:
    """Kill the process group of a command whose engine died; False, without a signal, where it is gone."""
    stat = process_stat(identity.pid)
    if stat is None or stat.group != identity.pid or not is_same_process(identity):
        return False
    return _signal_group(identity.pid, signal.SIGKILL)


def _start_blocked(command: str, cwd: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A child in a session of its own that waits for a line on stdin before it becomes the command."""
    shell = shutil.which("bash") or "/bin/sh"
    return subprocess.Popen(
        ["/bin/sh", "-c", _GATE, "engine", shell, "-c", command],
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )


def _identity_of(pid: int) -> ProcessIdentity:
    """The identity of our child; only its number where /proc hides it."""
    try:
        return of(pid)
    except NotFound:
        return ProcessIdentity("", pid, "")


def _signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group; False when there is none left that may be signalled."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class _Running:
    """A started child with its pipes and its process group.

    The child is waited for last: as long as it is a zombie, no other group can get its number.
    """

    def __init__(self, process: subprocess.Popen[bytes], on_output: OnOutput, max_output: int) -> None:
        self._process = process
        self._channels = [Channel(1, max_output, on_output), Channel(2, max_output, on_output)]
        self._pipes = selectors.DefaultSelector()
        for pipe, channel in zip((process.stdout, process.stderr), self._channels, strict=True):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._pipes.register(pipe, selectors.EVENT_READ, channel)

    def result(self, timeout_s: float, cancelled: threading.Event) -> ProcessResult:
        """Let the command run for at most `timeout_s` seconds, pass its output on, and return how it ended."""
        began = time.monotonic()
        self._open_gate()
        ended = self._watch(began + timeout_s, cancelled)
        duration = time.monotonic() - began
        clean = self._settle() if ended == "exited" else self._terminate()
        for channel in self._channels:
            channel.finish()
        code = self._process.wait()
        truncated = any(channel.truncated for channel in self._channels)
        if ended != "exited":
            message = "cancelled" if ended == "cancelled" else f"timed out after {timeout_s:g} s"
            return ProcessResult(None, ended, duration, message, truncated)
        notes = [f"killed by signal {-code}"] if code < 0 else []
        notes += [] if clean else ["what it left running with its output open was ended"]
        return ProcessResult(code if code >= 0 else 128 - code, ended, duration, "; ".join(notes), truncated)

    def close(self) -> None:
        """Close the pipes; kill a child that has not been waited for, with its group."""
        if self._process.returncode is None:
            _signal_group(self._process.pid, signal.SIGKILL)
        self._pipes.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def _open_gate(self) -> None:
        gate = self._process.stdin
        assert gate is not None
        with gate, contextlib.suppress(BrokenPipeError):
            gate.write(b"\n")

    def _watch(self, deadline: float, cancelled: threading.Event) -> Ended:
        while not self._exited():
            if cancelled.is_set():
                return "cancelled"
            if time.monotonic() >= deadline:
                return "timed_out"
            self._pump()
        return "exited"

    def _settle(self) -> bool:
        """Read the rest of the output after the shell's exit; False where processes that held the pipes were killed."""
        if self._pump_until(_LINGER_SECONDS, lambda: self._silent):
            return True
        self._kill()
        return False

    def _terminate(self) -> bool:
        _signal_group(self._process.pid, signal.SIGTERM)
        clean = self._pump_until(_TERMINATE_SECONDS, lambda: self._silent and self._exited())
        self._kill()
        return clean

    def _kill(self) -> None:
        _signal_group(self._process.pid, signal.SIGKILL)
        # A process that left the group may hold the pipes open for ever: read only what is in them now.
        self._pump_until(_TICK_SECONDS, lambda: self._silent)

    def _exited(self) -> bool:
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    @property
    def _silent(self) -> bool:
        return not self._pipes.get_map()

    def _pump_until(self, seconds: float, done: Callable[[], bool]) -> bool:
        """Pass output on until `done`; False where that takes longer than `seconds`."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() >= deadline:
                return False
            self._pump()
        return True

    def _pump(self) -> None:
        """Wait a moment for output and pass on what is due."""
        if self._silent:
            time.sleep(_EXIT_SECONDS)
        for key, _ in self._pipes.select(_TICK_SECONDS) if not self._silent else ():
            data = os.read(key.fd, BATCH_BYTES)
            if data:
                key.data.feed(data)
            else:
                self._pipes.unregister(key.fileobj)
        for channel in self._channels:
            channel.flush_if_due()
