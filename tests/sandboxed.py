"""What the tests of the sandbox share: a project with things to protect, and commands in it, as this user or another."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import shutil
import sys
import threading
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from timing import wait_until

from engine.processes.shell import ProcessResult, run_process
from engine.sandbox import Confined, Confinement, find

NOBODY = 65534
SECRET = "zq4711canary"
LONG_S = 600.0


def require_sandbox() -> None:
    """Skip the test where there is no bubblewrap; fail it in the continuous integration."""
    _, reason = find("bubblewrap")
    if reason:
        skip(reason)


def skip(reason: str) -> None:
    """Skip the test; fail it in the continuous integration."""
    if os.environ.get("CI"):
        pytest.fail(f"the continuous integration runs all tests of the sandbox, and cannot: {reason}")
    pytest.skip(reason)


@dataclass
class Said:
    """What a command printed, and how it ended."""

    out: str
    err: str
    result: ProcessResult
    refused: list[str] = field(default_factory=list)


@dataclass
class Place:
    """The project `root` and what lies around it; commands run as `user` (None: who tests)."""

    root: Path
    user: int | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """A Python that the user may run."""
        return python_of_all(self.user)

    def run(self, command: str, timeout_s: float = LONG_S, **options: Any) -> Said:
        """Run a command in the sandbox, `until` it prints a text. As another user that is done in a process of that user."""
        if self.user is None:
            return self._run(command, timeout_s, options)
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                become(self.user)
                sys.executable = python_of_all(self.user)
                with open(write, "wb") as file:
                    pickle.dump(self._run(command, timeout_s, options), file)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
            finally:
                os._exit(0)
        os.close(write)
        with open(read, "rb") as file:
            data = file.read()
        os.waitpid(child, 0)
        assert data, "the process of the other user failed"
        said = pickle.loads(data)
        assert isinstance(said, Said)
        return said

    def _run(self, command: str, timeout_s: float, options: dict[str, Any]) -> Said:
        sandbox, reason = find("bubblewrap")
        assert sandbox is not None, reason
        printed: dict[int, list[str]] = {1: [], 2: []}
        until, cancelled = options.pop("until", None), threading.Event()

        def take(channel: int, text: str) -> None:
            printed[channel].append(text)
            if until is not None and until in text:
                cancelled.set()

        confines = options.pop("sandbox", True)
        asked = Confinement(**{"root": self.root, "writable": True, **self.options, **options})
        with sandbox.confine(asked) if confines else nullcontext(Confined(())) as confined:
            result = run_process(
                command,
                cwd=self.root,
                timeout_s=timeout_s,
                on_start=lambda _: None,
                on_output=take,
                cancelled=cancelled,
                confined=confined if confines else None,
            )
            return Said("".join(printed[1]), "".join(printed[2]), result, list(confined.refused))

    def attempt(self, script: str, given: dict[str, Any], **options: Any) -> list[str]:
        """Run a program of Python in the sandbox that prints a list of what it managed, as JSON."""
        program = self.root / "attempt.py"
        program.write_text(script, encoding="utf-8")
        said = self.run(f"{python_of_all(self.user)} -I -S attempt.py '{json.dumps(given)}'", **options)
        assert said.result.exit_code == 0, said.err
        managed: list[str] = json.loads(said.out)
        return managed


def become(user: int) -> None:
    """Become another user, for good. Only this process may still read all: the installation of who tests may be closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    read_search = 1 << 2
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(read_search, read_search, 0, 0, 0, 0)
    if libc.capset(head, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def python_of_all(user: int | None) -> str:
    """A Python that this user may run: the installed one may lie in the home of who tests."""
    system = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    return sys.executable if user is None or system is None else system


def open_up(folder: Path) -> None:
    """Let all users reach a folder that tests have made."""
    for each in (folder, *folder.parents[:3]):
        found = each.stat()
        # one that they reach, such as /tmp or /dev/shm, belongs to the machine: its mode is left alone
        if found.st_uid == os.geteuid() and found.st_mode & 0o005 != 0o005:
            each.chmod(0o755)


def give(folder: Path, user: int) -> None:
    """Make `user` the owner of all in a folder."""
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user, user)


def is_gone(pid: int | str) -> bool:
    """Whether a process has ended, whoever has yet to take note of it."""
    try:
        return Path(f"/proc/{str(pid).strip()}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def expect_gone(*pids: int | str) -> None:
    """Wait for the end of processes that were killed: a signal may take its time to arrive."""
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def sleepers(seconds: str) -> list[str]:
    """The processes that still sleep for that long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()]:
            found.append(path.parent.name)
    return found
