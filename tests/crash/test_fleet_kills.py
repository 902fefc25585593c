"""SIGKILL of workers and of the driver of a fleet at random moments: no task is lost, and none is done twice.

Each task runs a process that leaves a mark in a file, so that a second one would be seen. `ENGINE_CAMPAIGN=N` kills N times.

spec: @fleet_at_most_once @fleet_workers
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from audit import audit
from campaign import CAMPAIGN

import engine
from engine.fleet.manifest import Manifest
from engine.system import identity

KILLS = CAMPAIGN or 3
TASKS = 6
COMMAND = [sys.executable, "-c", "import sys; from engine.cli.main import main; sys.exit(main())", "fleet"]
SECONDS = 600
MODEL = "".join(
    json.dumps({"text": text, "delay_s": 0.05}) + "\n"
    for text in (
        '<set path="known://a">1</set>',
        "<sh>echo x >> mark</sh>",
        '<update status="200">ok</update>',
        '<update status="200">it was interrupted</update>',
    )
)


@pytest.mark.parametrize("kind", ["worker", "driver", "both"])
def test_a_kill_loses_nothing_and_doubles_nothing(kind: str, tmp_path: Path) -> None:
    chance = random.Random(f"{kind} {KILLS}")
    (tmp_path / "s.jsonl").write_text(MODEL)
    rounds = max(1, KILLS // 3)
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "t.jsonl").write_text(
            "".join(json.dumps({"id": f"t{n}", "prompt": f"Do {n}"}) + "\n" for n in range(TASKS))
        )
        _killed(folder, kind, chance)
        _check(folder)


def _killed(folder: Path, kind: str, chance: random.Random) -> None:
    """Run a fleet that is killed up to three times, and bring it to its end."""
    words = ["run", "t.jsonl", "--files", "out/{id}.db", "--root-template", "work/{id}", "--yolo"]
    words += ["--model", f"scripted:{folder.parent / 's.jsonl'}", "--concurrency", "3", "--workers", "2"]
    until, kills = time.monotonic() + SECONDS, 0
    while True:
        with subprocess.Popen(
            [*COMMAND, *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as driver:
            while kills < 3 and driver.poll() is None and time.monotonic() < until:
                time.sleep(chance.uniform(0.1, 0.9))
                if not (folder / "t.fleet.db").exists():
                    continue
                kills += 1
                if kind in ("worker", "both"):
                    _kill_a_worker(folder, chance)
                if kind in ("driver", "both"):
                    driver.kill()
                    break
            said = driver.communicate(timeout=SECONDS)[1].decode()
        assert time.monotonic() < until, said
        if driver.returncode == 0:
            return
        assert driver.returncode == -signal.SIGKILL, said
        words = ["resume", "t.fleet.db", "--workers", "2"] if (folder / "t.fleet.db").exists() else words


def _kill_a_worker(folder: Path, chance: random.Random) -> None:
    with Manifest(folder / "t.fleet.db", read_only=True) as manifest:
        rows = manifest.rows("select identity from workers where ended_at is null")
    alive = [
        each for row in rows if (each := identity.read_identity(row["identity"])) and identity.state(each) == "alive"
    ]
    if alive:
        os.kill(chance.choice(alive).pid, signal.SIGKILL)


def _check(folder: Path) -> None:
    with Manifest(folder / "t.fleet.db", read_only=True) as manifest:
        results = manifest.rows("select task, state, answer from task_results")
        assert [row["state"] for row in results] == ["done"] * TASKS
        assert manifest.value("select count(*) from attempts where ended_at is null") == 0
        assert manifest.value("select count(*) from attempts where outcome = 'done'") == TASKS
        assert manifest.value("pragma integrity_check") == "ok"
        # what the attempts tell together is what the files hold
        turns = manifest.value("select sum(turns) from attempts")
    files = sorted((folder / "out").glob("*.db"))
    assert len(files) == TASKS
    found = engine.analysis(folder / "out").sql("select run, loops, turns, status from run_overview order by run")
    assert [(row["run"], row["loops"], row["status"]) for row in found] == [(f"t{n}", 1, 200) for n in range(TASKS)]
    assert sum(row["turns"] for row in found) == turns
    for number in range(TASKS):
        mark = folder / "work" / f"t{number}" / "mark"
        # a process that was cut off is not begun again, so there may be none
        assert not mark.exists() or mark.read_text() == "x\n"
    for path in files:
        audit(path)
