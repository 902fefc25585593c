"""A session at a terminal: real commands, with a scripted model, in a folder of their own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

WIDTH = 88
NOTES = "# Flat\n\nRent: 1,750 EUR, due on the 1st.\nDeposit: 3,500 EUR.\n"
COMMANDS = (
    'engine run "Raise the rent in notes.md to 1,900 EUR"',
    "engine accept --continue",
    "engine undo --yes",
    'engine sql "select turn, action, target, status from run_log"',
)
ANSWERS = (
    '<get path="notes.md"/><update status="102">reading the notes</update>',
    '<set path="notes.md"><<SEARCH\nRent: 1,750 EUR\nSEARCH\n<<REPLACE\nRent: 1,900 EUR\nREPLACE</set>'
    '<update status="102">raising the rent</update>',
    '<update status="200">The rent in notes.md is 1,900 EUR now.</update>',
)
USAGE = {"prompt_tokens": 2900, "cached_tokens": 2400, "completion_tokens": 60, "reasoning_tokens": 0, "cost": 0.0021}
SECONDS = 120


def session(folder: Path) -> list[tuple[str, list[str]]]:
    """Each command, with the lines that it prints on both streams."""
    work = folder / "work"
    work.mkdir()
    (work / "notes.md").write_text(NOTES, encoding="utf-8")
    script = folder / "model.jsonl"
    script.write_text("".join(json.dumps({"text": text, "usage": USAGE}) + "\n" for text in ANSWERS), encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "COLUMNS": str(WIDTH),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    _run("engine models add small " + shlex.quote(f"scripted:{script}"), work, environment)
    environment["ENGINE_MODEL"] = "small"
    return [(command, _run(command, work, environment)) for command in COMMANDS]


def _run(command: str, folder: Path, environment: dict[str, str]) -> list[str]:
    _, *words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "engine", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 6), done.stdout
    return done.stdout.splitlines()
