"""Runs queries in another process, which can be killed: libraries in C take no limit of time or memory.

A process is started at the first query that needs one and kept for the next. It holds no environment, no open files and no
connection of this one; it ends with its input.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.functions.limits import HELPER_BYTES, QUERY_SECONDS, Key, allowance

_PROGRAM = Path(__file__).parent / "helper_process.py"
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_TICK_MS = 50
_SLOWNESS = 20
"""A process that got less than this fraction of a processor is given up."""
_OUT_OF_MEMORY = f"needs more than {HELPER_BYTES // 1_000_000} MB of memory"


class _Process:
    """A helper process, busy with one query at a time."""

    def __init__(self) -> None:
        import subprocess  # slow to import, and seldom needed

        folders = [path for path in sys.path if os.path.isabs(path)]
        self._process = subprocess.Popen(
            [sys.executable or "", "-I", str(_PROGRAM), json.dumps(folders), str(HELPER_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _NEEDED if name in os.environ},
            cwd="/",
            start_new_session=True,  # Ctrl-C of a terminal is for this process alone
        )

    def ask(self, request: dict[str, Any], check: Callable[[], None]) -> dict[str, Any]:
        """The reply to a request, with `died` where that was the process's end; calls `check` while it waits."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        data = json.dumps(request).encode()
        try:
            with suppress(BrokenPipeError):
                self._process.stdin.write(len(data).to_bytes(8, "big") + data)
                self._process.stdin.flush()
            waiting = select.poll()
            waiting.register(self._process.stdout, select.POLLIN)
            until = time.monotonic() + _SLOWNESS * (request["seconds"] + 1)
            while not waiting.poll(_TICK_MS):
                check()
                if time.monotonic() > until:
                    break
            else:
                line = self._process.stdout.readline()
                if line:
                    reply: dict[str, Any] = json.loads(line)
                    return reply
        except BaseException:
            self.end()
            raise
        self.end()
        slow = self._process.returncode in (-signal.SIGPROF, -signal.SIGKILL)
        failure = f"takes longer than {request['seconds']:.2g} s" if slow else _OUT_OF_MEMORY
        return {"failure": failure, "seconds": request["seconds"], "died": True}

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def forget(self) -> None:
        """Leave the process to the parent of this one, which was forked."""
        self._process.returncode = 0


_idle: list[_Process] = []


def run(key: Key, work: str, *arguments: str) -> Any:
    """What `work` in the helper process returns for `arguments`; None where it broke a limit, which is remembered for `key`.

    Raises `Stopped` where the statement shall end.
    """
    allowed = allowance()
    seconds = allowed.grant(key, QUERY_SECONDS)
    if not seconds:
        return None
    try:
        process = _taken() or _Process()
    except OSError as error:
        allowed.fail(key, f"{key.kind} {key.source!r} cannot be run: no process for it ({error}); use a simpler one")
        return None
    reply = process.ask({"work": work, "arguments": arguments, "seconds": seconds}, allowed.check)
    if "died" not in reply:
        _idle.append(process)
    allowed.left -= reply["seconds"]
    if "failure" in reply:
        allowed.fail(key, f"{key.kind} {key.source!r} {reply['failure'] or _OUT_OF_MEMORY}: use a simpler one")
        return None
    return reply["result"]


def _taken() -> _Process | None:
    """An idle process, which no other thread has; None where there is none."""
    try:
        return _idle.pop()
    except IndexError:
        return None


@atexit.register
def _end_all() -> None:
    while process := _taken():
        process.end()


def _forget_all() -> None:
    while process := _taken():
        process.forget()


os.register_at_fork(after_in_child=_forget_all)
