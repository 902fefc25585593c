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
    attempts: dict[str, Callable[[], bool]] = {
        "write outside": lambda: _writes(Path(given["outside"], "written")),
        "read home": lambda: any(os.path.lexists(Path(given["user"], name)) for name in given["home"]),
        "read .env": lambda: bool(Path(".env").read_text()),
        "read database": lambda: bool(Path(".engine/engine.db").read_text()),
        "change git hooks": lambda: _writes(Path(".git/hooks/pre-commit")),
        "change git config": lambda: _writes(Path(".git/config")),
        "reach network": lambda: _connects(socket.AF_INET, ("127.0.0.1", given["port"])),
        "reach socket": lambda: _connects(socket.AF_UNIX, given["socket"]),
        "see process": lambda: _is_it(given) and bool(Path(f"/proc/{given['pid']}/environ").read_bytes()),
        "signal process": lambda: _is_it(given) and _signals(given["pid"]),
        "be root": _has_rights,
    }
    return [name for name, attempt in attempts.items() if _succeeds(attempt)]


def _succeeds(attempt: Callable[[], bool]) -> bool:
    try:
        return attempt()
    except OSError:
        return False


def _writes(path: Path) -> bool:
    path.write_text("x")
    return True


def _connects(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    with socket.socket(family) as client:
        client.settimeout(_SECONDS)
        client.connect(address)
    return True


def _is_it(given: dict[str, Any]) -> bool:
    """Whether the process is the one meant, and not another with its number."""
    stat = Path(f"/proc/{given['pid']}/stat").read_text()
    return bool(stat.rpartition(")")[2].split()[19] == given["started"])


def _signals(pid: int) -> bool:
    os.kill(pid, 0)
    return True


def _has_rights() -> bool:
    """Whether this process has any right of root, or can get one."""
    os.setresuid(0, 0, 0)
    lines = Path("/proc/self/status").read_text().splitlines()
    return any(int(line[7:], 16) for line in lines if line.startswith("CapEff:"))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))  # noqa: T201 - its output
