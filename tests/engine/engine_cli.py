"""What the tests of the command line share: scripts, and the command in this process or one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

from engine.cli.main import main

ENGINE = [sys.executable, "-c", "import sys; from engine.cli.main import main; sys.exit(main())"]
SECONDS = 300
"""How long a process may take before a test gives it up, on the slowest machine."""
_cache = tempfile.TemporaryDirectory(prefix="engine-cache-")
"""What the engine makes of its own files and keeps, for all tests: without it each process makes that again."""
# What would make the outcome depend on who runs the tests.
_OWN = ("ENGINE_", "XDG_", "OPENAI_", "ANTHROPIC_", "OPENROUTER_", "NO_COLOR", "FORCE_COLOR")


def environment(home: Path, **extra: str) -> dict[str, str]:
    """An environment without models, keys and caches of the person who tests; the cache is one for all tests."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(_OWN) and not name.endswith("_API_KEY")
    }
    own = {"HOME": str(home), "ENGINE_CACHE": _cache.name, "COLUMNS": "120"}
    # the files that a test has made are known to the processes that it starts
    return kept | own | {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]} | extra


def engine(
    folder: Path, *arguments: str, stdin: str | TextIO = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command line in `folder` and in this process, without a terminal: what `main` does, and quickly.

    `stdin` is what - reads, or an open file or pipe.
    """
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, environment(folder.parent, **(env or {})), clear=True),
        patch("sys.stdin", io.StringIO(stdin) if isinstance(stdin, str) else stdin),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, stdout.getvalue(), stderr.getvalue())


def engine_process(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command line in `folder` as a process of its own, without a terminal."""
    return run_command(folder, *ENGINE, *arguments, stdin=stdin)


def run_command(folder: Path, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run any command in `folder`, without a terminal and what is the tester's own."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(folder.parent),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def on_terminal(folder: Path, *arguments: str, columns: int = 80, typed: str = "", **extra: str) -> tuple[int, str]:
    """Run a command line in `folder` on a pseudo terminal of that width, where somebody has typed a text; the exit code and
    what it says.
    """
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    variables = environment(folder.parent, **{"TERM": "xterm-256color", "COLUMNS": str(columns), **extra})
    process = subprocess.Popen(
        [*ENGINE, *arguments], cwd=folder, env=variables, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # how a pseudo terminal says that its other side is closed
        while piece := os.read(ours, 4096):
            said += piece
    os.close(ours)
    return process.wait(SECONDS), said.decode().replace("\r\n", "\n")


def screen(said: str, columns: int = 200) -> list[str]:
    """The lines that a terminal shows in the end, those that have scrolled past too; colours are left out."""
    import pyte

    shown = pyte.Screen(columns, 500)
    pyte.Stream(shown).feed(said.replace("\r\n", "\n").replace("\n", "\r\n"))
    lines = [line.rstrip() for line in shown.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def script(path: Path, answers: Sequence[str | Mapping[str, Any]]) -> str:
    """Write a script of answers; returns the name of the model that reads it."""
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return f"scripted:{path}"


def database(folder: Path) -> Path:
    """The default database of a folder."""
    return folder / ".engine" / "engine.db"


READ_AND_ANSWER: list[str | Mapping[str, Any]] = [
    {
        "text": '<get path="notes.md"/><update status="102">reading</update>',
        "usage": {"prompt_tokens": 900, "completion_tokens": 20, "cost": 0.001},
    },
    {"text": '<update status="200">The port is 8080.</update>', "usage": {"cost": 0.002}},
]
EDIT_AND_RUN: list[str | Mapping[str, Any]] = [
    '<set path="notes.md"><<SEARCH\nThe port is 8080.\nSEARCH\n<<REPLACE\nThe port is 9090.\nREPLACE</set>'
    '<sh>echo done > marker</sh><update status="102">edited</update>',
    '<update status="200">Changed.</update>',
]
QUESTION: list[str | Mapping[str, Any]] = [
    '<ask_user question="Which year?" options="2025; 2026"/><update status="102">asked</update>',
    '<update status="200">Noted.</update>',
]
