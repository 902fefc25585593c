"""SIGKILL at many moments of a workflow of twelve steps: it is taken up, and no step that has ended runs again.

After every kill the file passes the audit. At the end each step has one run, with as many turns as without a kill, and the
files of the folder are the same.

spec: @workflow_runs @crash_safety
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from campaign import CAMPAIGN
from crash.harness import Case, ended, files, kill_after, killed_once, new_case

import engine

KILLS = CAMPAIGN or 3
KILLS_IN_A_ROW = CAMPAIGN // 5 or 3
NEEDS = {1: [], 2: [1], 3: [1], 4: [1], 5: [2], 6: [2, 3], 7: [4], 8: [5, 6], 9: [7], 10: [], 11: [8, 9], 12: [10, 11]}
QUESTION = "select step, state, child, turns, answer from step_list where run = 'crash'"


def new_workflow(folder: Path) -> Case:
    """A new case: each step writes a file of its own, and says its number."""
    case = new_case(folder, {}, ["none"])
    steps = []
    for number, needs in NEEDS.items():
        script = folder / f"step{number}.jsonl"
        answers = [
            f'<set path="step{number}.txt">{number}\n</set><update status="102">written</update>',
            f'<update status="200">Step {number}.</update>',
        ]
        script.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
        needed = [f"s{each}" for each in needs]
        steps.append({"id": f"s{number}", "instruction": "Do it", "needs": needed, "model": f"scripted:{script}"})
    place = folder / "work.json"
    place.write_text(json.dumps({"name": "work", "description": "d", "steps": steps}), encoding="utf-8")
    return replace(case, workflow=place)


def cases(folder: Path) -> Callable[[], Case]:
    numbers = count()
    return lambda: new_workflow(folder / str(next(numbers)))


def steps_of(case: Case) -> dict[str, dict[str, Any]]:
    with closing(engine.open(case.database)) as db:
        return {row["step"]: row for row in db.rows(QUESTION)}


def check_end(case: Case, completed: dict[str, dict[str, Any]]) -> None:
    """A workflow that was taken up has ended as if nothing had happened; what was completed before is as it was."""
    result = case.finish()
    audit(case.database)
    assert (result["status"], result["answer"]) == (200, "Step 12.")
    steps = steps_of(case)
    assert {step: (row["state"], row["turns"], row["answer"]) for step, row in steps.items()} == {
        f"s{number}": ("completed", 2, f"Step {number}.") for number in NEEDS
    }
    assert {step: steps[step] for step in completed} == completed
    assert files(case.root) == {f"step{number}.txt": f"{number}\n" for number in NEEDS}
    with closing(engine.open(case.database)) as db:
        assert db.value("select count(*) from runs") == 1 + len(NEEDS)
        assert db.value("select count(*) from events where kind = 'workflow.step'") == 2 * len(NEEDS)


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The seconds that an unkilled one takes."""
    case = new_workflow(tmp_path_factory.mktemp("whole") / "case")
    process = case.start()
    began = time.monotonic()
    assert ended(process)["status"] == 200
    return time.monotonic() - began


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_workflow_goes_on_and_runs_no_step_again(tmp_path: Path, spent: float, kill: int) -> None:
    moment = (kill + random.Random(kill).random()) / KILLS * spent
    case = killed_once(cases(tmp_path), moment)
    audit(case.database)
    before = steps_of(case)
    check_end(case, {step: row for step, row in before.items() if row["state"] == "completed"})


def test_a_workflow_that_is_killed_again_and_again_still_ends(tmp_path: Path, spent: float) -> None:
    case = new_workflow(tmp_path / "case")
    source = random.Random(12)
    completed: dict[str, dict[str, Any]] = {}
    for _ in range(KILLS_IN_A_ROW):
        if not kill_after(case.start(), source.uniform(0.1, 0.5) * spent):
            break
        audit(case.database)
        now = steps_of(case)
        assert {step: now[step] for step in completed} == completed
        completed = {step: row for step, row in now.items() if row["state"] == "completed"}
    check_end(case, completed)
