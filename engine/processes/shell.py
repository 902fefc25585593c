"""Runs a shell command: its start is recorded before it can act, and it is always ended.

The command starts blocked, in the care of a guard (`guard.py`), which waits for an order of this process before it
releases it. So the start is committed first, and where the engine dies in between, the command never runs.
"""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from engine.processes.channels import BATCH_BYTES, Channel, OnBytes, OnOutput
from engine.processes.guarded import Guarded, signal_group
from engine.system.identity import ProcessIdentity, is_same_process, process_stat
from engine.system.secrets import clean_environment

if TYPE_CHECKING:
    from engine.processes.confinement import Confined

Ended = Literal["exited", "timed_out", "cancelled", "failed_to_start"]

_TICK_SECONDS = 0.05
_EXIT_SECONDS = 0.005
_TERMINATE_SECONDS = 2.0
_LINGER_SECONDS = 0.5


class Signal(Protocol):
    """Tells whether a command shall end; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether it shall."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a command ended after `duration_s` seconds of running.

    `exit_code` is 0-255 where it `exited` (128 + N where signal N killed it), else None. `left_out` counts the bytes of
    output above the limit that were dropped. `message` is for people and may be empty.
    """

    exit_code: int | None
    ended: Ended
    duration_s: float
    message: str = ""
    left_out: int = 0


def run_process(
    command: str,
    *,
    cwd: Path,
    timeout_s: float,
    on_start: Callable[[ProcessIdentity], None],
    on_output: OnOutput,
    cancelled: Signal | None = None,
    environment: Mapping[str, str] | None = None,
    max_output: int = 1_000_000,
    confined: Confined | None = None,
    on_bytes: OnBytes | None = None,
    follows: bool = False,
    given: int | None = None,
) -> ProcessResult:
    """Run `command` in bash (sh where there is none) in the folder `cwd` for at most `timeout_s` seconds.

    `on_start` is called with the identity of the process before the command can act, `on_output` with the channel (1
    stdout, 2 stderr) and text. Both run in the calling thread. At most `max_output` bytes of each channel are passed on, the
    first half and the last; with `follows` the latest ones each second. `on_bytes` gets the channel and every byte.
    The command gets `environment`, by default this process's own without secrets. With `confined` it runs in a sandbox, and
    all that it started ends with it. The descriptor `given` is its input, without it there is none.

    The command and all that it started are ended after the time-out, when `cancelled` is set, and when this process ends.
    Processes that outlive the shell are ended too where they hold its output open; a background process that has closed
    its output stays. An error of a callback ends the command and is raised. A command that cannot start is a result, not
    an error.
    """
    cancelled = cancelled or threading.Event()
    environment = clean_environment(os.environ) if environment is None else environment
    if cancelled.is_set():
        return ProcessResult(None, "cancelled", 0.0, "cancelled before it started")
    try:
        guarded = Guarded(command, cwd, environment, confined, given=given)
    except (OSError, ValueError) as error:
        return ProcessResult(None, "failed_to_start", 0.0, f"cannot start the command in {str(cwd)!r}: {error}")
    channels = [Channel(n, max_output, on_output, on_bytes=on_bytes, follows=follows) for n in (1, 2)]
    running = _Running(guarded, channels)
    try:
        on_start(guarded.identity)
        if cancelled.is_set():
            return ProcessResult(None, "cancelled", 0.0, "cancelled before it started")
        return running.result(timeout_s, cancelled)
    finally:
        running.close()


def kill_leftover(identity: ProcessIdentity | None) -> bool:
    """Kill the process group of a command whose engine died; False, without a signal, where it is gone or not known."""
    stat = process_stat(identity.pid) if identity else None
    if identity is None or stat is None or stat.group != identity.pid or not is_same_process(identity):
        return False
    return signal_group(identity.pid, signal.SIGKILL)


class _Running:
    """A started command with its output."""

    def __init__(self, guarded: Guarded, channels: list[Channel]) -> None:
        self._guarded = guarded
        self._channels = channels
        self._pipes = selectors.DefaultSelector()
        for pipe, channel in zip(guarded.output, self._channels, strict=True):
            os.set_blocking(pipe.fileno(), False)
            self._pipes.register(pipe, selectors.EVENT_READ, channel)

    def result(self, timeout_s: float, cancelled: Signal) -> ProcessResult:
        """Let the command run for at most `timeout_s` seconds, pass its output on, and return how it ended."""
        began = time.monotonic()
        self._guarded.release()
        ended = self._watch(began + timeout_s, cancelled)
        duration = time.monotonic() - began
        clean = self._settle() if ended == "exited" else self._terminate()
        for channel in self._channels:
            channel.finish()
        left_out = sum(channel.left_out for channel in self._channels)
        if ended != "exited":
            message = "cancelled" if ended == "cancelled" else f"timed out after {timeout_s:g} s"
            return ProcessResult(None, ended, duration, message, left_out)
        code = self._guarded.code or 0
        notes = [f"killed by signal {-code}"] if code < 0 else []
        notes += [] if clean else ["processes that it left running were stopped"]
        return ProcessResult(code if code >= 0 else 128 - code, ended, duration, "; ".join(notes), left_out)

    def close(self) -> None:
        """Close the pipes; a command that has not ended is killed, with all that it started."""
        self._pipes.close()
        self._guarded.close()

    def _watch(self, deadline: float, cancelled: Signal) -> Ended:
        while not self._guarded.ended():
            if cancelled.is_set():
                return "cancelled"
            if time.monotonic() >= deadline:
                return "timed_out"
            self._pump()
        return "exited"

    def _settle(self) -> bool:
        """Read the rest of the output after the shell's exit; False where processes that held the pipes were killed."""
        if self._pump_until(_LINGER_SECONDS, lambda: self._silent):
            self._guarded.let_go()
            return True
        self._kill()
        return False

    def _terminate(self) -> bool:
        self._guarded.terminate()
        clean = self._pump_until(_TERMINATE_SECONDS, lambda: self._silent and self._guarded.ended())
        self._kill()
        return clean

    def _kill(self) -> None:
        self._guarded.kill()
        # A process that the guard does not hold may keep the pipes open for ever: read only what is in them now.
        self._pump_until(_TICK_SECONDS, lambda: self._silent)

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
