"""Tries a sandbox out: attempts to get out of it, each stopped or not."""

from __future__ import annotations

import json
import os
import shlex
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.processes.confinement import Confinement, Sandbox
from engine.processes.shell import run_process
from engine.system.identity import this_process
from engine.system.places import home_folder, socket_folder

from . import attempts
from .bubblewrap import python_program

ATTEMPTS = {
    "write outside": "write a file outside of the project",
    "read home": "read the home folder: keys of ssh, gpg and clouds",
    "read .env": "read .env in the project",
    "read database": "read the engine's database",
    "change git hooks": "plant a git hook",
    "change git config": "change .git/config",
    "reach network": "connect to a port of this machine",
    "reach socket": "connect to a unix socket",
    "see process": "read the environment of the engine",
    "signal process": "send a signal to the engine",
    "be root": "have rights of root",
}
"""The attempts by name, and what each tries."""
_SECONDS = 20.0


def try_out(sandbox: Sandbox | None) -> dict[str, bool]:
    """Whether each attempt of `ATTEMPTS` is stopped, in a sandbox or without one; tried by one command.

    Raises `EngineError` where the command says nothing, and what `Sandbox.confine` raises.
    """
    with _planted() as (project, given):
        asked = Confinement(project, writable=True, database=project / ".engine" / "engine.db")
        program = [python_program(), "-I", "-S", "-c", Path(attempts.__file__).read_text("utf-8"), json.dumps(given)]
        said: dict[int, list[str]] = {1: [], 2: []}
        with sandbox.confine(asked) if sandbox else nullcontext() as confined:
            result = run_process(
                shlex.join(program),
                cwd=project,
                timeout_s=_SECONDS,
                on_start=lambda _: None,
                on_output=lambda channel, text: said[channel].append(text),
                confined=confined,
            )
        try:
            managed = json.loads("".join(said[1]))
        except ValueError:
            why = result.message or "".join(said[2]).strip().rpartition("\n")[2] or "it says nothing"
            raise EngineError(f"the test of the sandbox failed: exit code {result.exit_code}, {why}") from None
    return {name: name not in managed for name in ATTEMPTS}


@contextmanager
def _planted() -> Iterator[tuple[Path, dict[str, Any]]]:
    """A project with things to protect, and what lies around it."""
    home = home_folder()
    with (
        tempfile.TemporaryDirectory(prefix="engine-", dir=socket_folder()) as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        project, outside = Path(folder, "project"), Path(folder, "outside")
        for path in (project / ".git" / "hooks", project / ".engine", outside):
            path.mkdir(parents=True)
        for name in (".env", ".engine/engine.db", ".git/config"):
            (project / name).write_text("x")
        local.bind(str(project / "socket"))
        local.listen()
        yield (
            project,
            {
                "outside": str(outside),
                "pid": os.getpid(),
                "started": this_process().started,
                "port": server.getsockname()[1],
                "socket": str(project / "socket"),
                "user": str(home),
                "home": [
                    name for name in (".ssh", ".gnupg", ".aws", ".bash_history", ".profile") if (home / name).exists()
                ],
            },
        )
