"""Real MCP servers for tests: programs, and one over HTTP on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from audit import audit
from driving import DONE, GO_ON, script

import engine
from engine.mcp import Server

SERVERS = Path(__file__).parent.parent / "servers"
LOG = "select action, status, body from run_log where run = 'demo' and turn > 0 and action not in ('update', 'error')"
TOLD = "select group_concat(body, '') from packet_texts where run = 'demo' and turn = ? and role = 'system'"


def office(name: str = "office", **given: Any) -> Server:
    """The server of an office, as a program."""
    return Server(name, [sys.executable, str(SERVERS / "office.py"), "stdio"], **given)


def hostile(how: str, **given: Any) -> Server:
    """A program that speaks the protocol badly."""
    return Server("hostile", [sys.executable, str(SERVERS / "hostile.py"), how], **{"allow": ["*"], **given})


@contextmanager
def over_http(*arguments: str, **environment: str) -> Iterator[str]:
    """The address of the office over HTTP; the arguments are those behind its socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number = listening.fileno()
        command = [sys.executable, str(SERVERS / "office.py"), "http", str(number), *arguments]
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, pass_fds=[number], stderr=subprocess.DEVNULL
        )
        port = listening.getsockname()[1]
    with process:
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


def driven(folder: Path, servers: list[Server], *answers: str, **options: Any) -> list[tuple[Any, ...]]:
    """Action, status and body of what a model did that gave these answers."""
    model = script(folder, *(f"{answer}{GO_ON}" for answer in answers), DONE)
    with engine.open(folder / "t.db", mcp=servers) as db:
        assert db.run("Go", run="demo", model=model, root=folder, **options).status == 200
        found = [tuple(row.values()) for row in db.rows(LOG)]
    audit(folder / "t.db")
    return found


def alive(mark: str) -> list[int]:
    """The processes in whose command line a text stands."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                words = Path("/proc", name, "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if mark in words and int(name) != os.getpid():
                found.append(int(name))
    return found
