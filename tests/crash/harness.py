"""Runs in a process of their own that can be killed, and what is left in the file when they have ended."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine

CHILD = Path(__file__).with_name("child.py")
PATIENCE_S = 300
ATTEMPTS = 20

# What differs between two runs of the same: times and ids.
_VARYING = {"updated_at", "created_at", "started_at", "ended_at", "at", "ms_model", "ms_engine", "command_id", "model"}

_QUESTIONS = {
    "entries": "select * from known_entries order by scope, path",
    "log": "select * from run_log",
    "turns": "select * from turn_timeline",
    "loops": "select * from loop_list",
    "packets": "select turn, role, sha256 from packet_texts order by turn, ordinal",
    "context": "select turn, path, visibility, state, body from context_at order by turn, path",
}


@dataclass(frozen=True)
class Case:
    """A database that need not be there yet, the folder its run works in, and the model's script; a workflow, if it is one
    that is run.
    """

    database: Path
    root: Path
    script: Path
    depth: int = 0
    """How many levels of runs its run may delegate to."""
    workflow: Path | None = None

    def start(self) -> subprocess.Popen[str]:
        """A process that drives the run, at the moment when it starts to."""
        process = subprocess.Popen(
            [
                *(sys.executable, CHILD, self.database, self.root, f"scripted:{self.script}", str(self.depth)),
                *([self.workflow] if self.workflow else []),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.root,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def finish(self) -> dict[str, Any]:
        """Drive the run to its end; returns the result."""
        return ended(self.start())


def new_case(folder: Path, files: dict[str, str], responses: list[Any], depth: int = 0) -> Case:
    """A case in the new folder `folder`, with these files and this script."""
    root = folder / "root"
    root.mkdir(parents=True)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(response) + "\n" for response in responses), encoding="utf-8")
    return Case(folder / "crash.db", root, script, depth)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a process printed last, once it has ended."""
    output, _ = process.communicate(timeout=PATIENCE_S)
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def kill_after(process: subprocess.Popen[str], seconds: float) -> bool:
    """SIGKILL the process after so many seconds; False when it had ended before."""
    time.sleep(seconds)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    return process.returncode == -9


def killed_once(new: Callable[[], Case], seconds: float) -> Case:
    """A new case whose run was killed so long after its start; sooner, if that was too late to kill anything."""
    for _ in range(ATTEMPTS):
        if kill_after((case := new()).start(), seconds):
            return case
        seconds *= 0.7
    raise AssertionError(f"{ATTEMPTS} runs ended before they could be killed")


def snapshot(case: Case) -> dict[str, Any]:
    """All that two runs of the same have in common: entries, log, turns, packets, history and the files of the folder."""
    with closing(engine.open(case.database)) as db:
        found = {name: [_lasting(row) for row in db.rows(query)] for name, query in _QUESTIONS.items()}
    return {**found, "files": files(case.root)}


def files(root: Path) -> dict[str, str]:
    """Every file under `root` with its text, hidden and temporary ones too."""
    return {str(path.relative_to(root)): path.read_text("utf-8") for path in sorted(root.rglob("*")) if path.is_file()}


def _lasting(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _VARYING}
