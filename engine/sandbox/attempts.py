"""Tries to get out of where it runs, and prints what it managed. A program of its own, given as text to `python -I -S -c`.

Its argument is JSON: `outside` is a folder outside of the project, `pid` a process that `started` at that tick, `port` a
port of this machine, `socket` a path, `home` names in the folder `user`. It changes nothing but files that were made for
it. It imports nothing of the engine.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SECONDS = 2.0


def main(given: dict[str, Any]) -> list[str]:
    """The names of the attempts that succeeded."""
    attempts: dict[str, Callable[[], object]] = {
        "write outside": lambda: Path(given["outside"], "written").write_text("x"),
        "read home": lambda: any(os.path.lexists(Path(given["user"], name)) for name in given["home"]) or _fail(),
        "read .env": lambda: Path(".env").read_text() or _fail(),
        "read database": lambda: Path(".engine/engine.db").read_text() or _fail(),
        "change git hooks": lambda: Path(".git/hooks/pre-commit").write_text("x"),
        "change git config": lambda: Path(".git/config").write_text("x"),
        "reach network": lambda: socket.create_connection(("127.0.0.1", given["port"]), _SECONDS).close(),
        "reach socket": lambda: _connect(given["socket"]),
        "see process": lambda: Path(f"/proc/{given['pid']}/environ").read_bytes() or _fail(),
        "signal process": lambda: os.kill(given["pid"], 0) if _is_it(given) else _fail(),
        "be root": lambda: os.setresuid(0, 0, 0) or _has_rights() or _fail(),
    }
    return [name for name, attempt in attempts.items() if _succeeds(attempt)]


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, ValueError):
        return False
    return True


def _fail() -> None:
    raise ValueError


def _connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_SECONDS)
        client.connect(path)


def _is_it(given: dict[str, Any]) -> bool:
    """Whether the process is the one meant, and not another with its number."""
    return Path(f"/proc/{given['pid']}/stat").read_text().rpartition(")")[2].split()[19] == given["started"]


def _has_rights() -> bool:
    """Whether this process has any right of root."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return any(int(line[7:], 16) for line in lines if line.startswith("CapEff:"))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))  # noqa: T201 - its output
