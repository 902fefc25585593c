"""This engine beside pydantic-ai and LangGraph with SQLite: the same work, on the same machine, each in its own process.

`python -m tests.bench peers` makes an environment of its own in `.bench/peers` and installs there what `requirements.txt`
says; `--python PATH` names one that is there. Two kinds of work, each stored in one SQLite file:

- turns: 500 runs of one turn with a model that takes 50 ms, 50 at a time
- approvals: 200 runs at once, whose model calls a tool that needs a decision, is given it, and answers

pydantic-ai keeps nothing itself: its program stores the messages of each run in a table, as its documents show it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from .table import Line, text

HERE = Path(__file__).parent / "peers"
ENVIRONMENT = HERE.parents[2] / ".bench" / "peers"
PROGRAMS = {"engine": "with_engine.py", "pydantic-ai": "with_pydantic_ai.py", "LangGraph": "with_langgraph.py"}
SIZES = {"turns": 500, "approvals": 200}
TARGETS = {("turns", "cpu"): 6.0, ("approvals", "cpu"): 4.0, ("approvals", "mb"): 250.0}
"""Of this engine, in seconds and MB."""


def main(arguments: list[str]) -> None:
    """Measure all and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench peers", description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, help="the Python of an environment that has the peers")
    given = parser.parse_args(arguments)
    print(text(lines(given.python or made())))


def made() -> Path:
    """The Python of the environment with the peers, which is made where it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return python


def lines(peers: Path, sizes: dict[str, int] = SIZES) -> list[Line]:
    """The rows of the table: of each work and program seconds of CPU, seconds and MB."""
    found = []
    for work, size in sizes.items():
        for name, program in PROGRAMS.items():
            told = measured(Path(sys.executable) if name == "engine" else peers, program, work, size)
            for figure, unit in (("cpu", "s CPU"), ("wall", "s"), ("mb", "MB")):
                target = TARGETS.get((work, figure)) if name == "engine" else None
                found.append(Line(f"{size} {work}, {name}", told[figure], unit, target))
    return found


def measured(python: Path, program: str, work: str, size: int) -> dict[str, float]:
    """What a program says of itself."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, HERE / program, work, str(size)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{program} {work}: {done.stderr[-2000:]}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told
