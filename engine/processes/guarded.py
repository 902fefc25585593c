"""The engine's side of a guarded command: starts the guard (`engine.processes.guard`), orders it, hears what it tells.

spec: @guarded_commands
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from engine.errors import NotFound
from engine.processes import guard
from engine.system.identity import ProcessIdentity, of

if TYPE_CHECKING:
    from engine.processes.confinement import Confined

_START_SECONDS = 30.0
_END_SECONDS = 3.0
_LAST_SECONDS = 10.0
_TICK_SECONDS = 0.005


class Guarded:
    """A command in bash (sh where there is none), in the folder `cwd`, that waits to be released.

    With `confined` it runs in a sandbox; the descriptor `given` is its input, without it there is none. `identity` is that
    of the command, `output` are its two channels. Raises `OSError` or `ValueError` where it cannot start.
    """

    def __init__(
        self,
        command: str,
        cwd: Path,
        environment: Mapping[str, str],
        confined: Confined | None = None,
        *,
        given: int | None = None,
    ) -> None:
        told, status = os.pipe()
        self._told = open(told, "rb", buffering=0)  # noqa: SIM115 - closed by `close`
        self._heard = b""
        self._orders_end = False
        try:
            self._guard = _started(command, cwd, environment, status, confined, given)
        except BaseException:
            self._told.close()
            raise
        finally:
            os.close(status)
        assert self._guard.stdout is not None
        assert self._guard.stderr is not None
        self.output: tuple[IO[bytes], IO[bytes]] = (self._guard.stdout, self._guard.stderr)
        self.code: int | None = None
        """The command's exit code, -N where signal N ended it; None while it runs."""
        os.set_blocking(told, False)
        try:
            self.identity = _identity_of(self._first_word())
        except BaseException:
            self.close()
            raise

    def release(self) -> None:
        """Let the command act."""
        self._order(b"g")

    def terminate(self) -> None:
        """Ask the command and all that it started to end."""
        self._order(b"t")

    def kill(self) -> None:
        """Kill the command and all that it started; returns when nothing is left, after 3 s at the latest."""
        self._order(b"kd")
        self._orders_end = True
        with suppress(subprocess.TimeoutExpired):
            self._guard.wait(_END_SECONDS)
        self.ended()

    def let_go(self) -> None:
        """Let what the command left in the background live on."""
        self._order(b"d")
        self._orders_end = True

    def ended(self) -> bool:
        """Whether the command has ended. Where the guard is gone, what is left of the command's group is killed."""
        if self.code is None and not self._hear() and self.code is None:
            signal_group(self.identity.pid, signal.SIGKILL)
            self.code = -signal.SIGKILL
        return self.code is not None

    def close(self) -> None:
        """End what was not let go, and close the pipes."""
        if not self._orders_end:
            self.kill()
        if self._guard.poll() is None and self.code is None:
            self._guard.kill()
        for pipe in (self._guard.stdin, *self.output, self._told):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._guard.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:  # it was suspended
            self._guard.kill()
            self._guard.wait()

    def _order(self, orders: bytes) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError, ValueError):
            self._guard.stdin.write(orders)

    def _first_word(self) -> int:
        """The process id of the command, once it waits."""
        deadline = time.monotonic() + _START_SECONDS
        while not self._heard.startswith(b"pid ") or b"\n" not in self._heard:
            ready, _, _ = select.select([self._told], [], [], max(0.0, deadline - time.monotonic()))
            if not ready or not self._hear():
                raise OSError(f"the guard of the command does not start: {self._complaint()}")
        line, _, self._heard = self._heard.partition(b"\n")
        return int(line[4:])

    def _complaint(self) -> str:
        self._guard.kill()
        lines = self.output[1].read().decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it says nothing")

    def _hear(self) -> bool:
        """Take what the guard told; False where it is gone."""
        while data := self._told.read(4096):
            self._heard += data
        for line in self._heard.split(b"\n")[:-1]:
            if line.startswith(b"exit "):
                self.code = int(line[5:])
        return data is None  # nothing for now; at the end it is empty


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group; False when there is none left that may be signalled."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _started(
    command: str,
    cwd: Path,
    environment: Mapping[str, str],
    status: int,
    confined: Confined | None,
    given: int | None,
) -> subprocess.Popen[bytes]:
    shell = (confined and confined.shell) or shutil.which("bash") or "/bin/sh"
    locale = "1" if "LC_CTYPE" in environment else "0"
    free = {guard.UNCONFINED: os.environ[guard.UNCONFINED]} if os.environ.get(guard.UNCONFINED) else {}
    changed: dict[str, str | None] = {**environment, **(confined.environment if confined else {})}
    limited = confined.limits if confined else None
    limits = f"{limited.memory},{limited.file_size},{limited.processes}" if limited else "0,0,0"
    return subprocess.Popen(
        [
            _python(),
            "-I",
            "-S",
            guard.__file__,
            str(status) if given is None else f"{status}:{given}",
            locale,
            limits,
            shell,
            *(confined.prefix if confined else ()),
        ],
        cwd=cwd,
        env={
            **{name: value for name, value in changed.items() if value is not None},
            **free,
            guard.COMMAND: command,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(status,) if given is None else (status, given),
        start_new_session=True,
        bufsize=0,
    )


def _python() -> str:
    """This Python; in a program that embeds one, the one that it was built from."""
    if Path(sys.executable or "").name.startswith(("python", "pypy")):
        return sys.executable
    return str(Path(sys.prefix) / "bin" / "python3")


def _identity_of(pid: int) -> ProcessIdentity:
    """The identity of a command; only its number where /proc hides it."""
    try:
        return of(pid)
    except NotFound:
        return ProcessIdentity("", pid, "")
