"""SIGKILL at random moments of a run that has delegated to four others; what a new process makes of the file that is left.

Parent and children go on where each stood: no step is done twice, no answer is lost, no child that has ended is asked again.

spec: @delegation @crash_safety
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from crash.harness import Case, ended, files, kill_after, killed_once, new_case

import engine

CAMPAIGN = int(os.environ.get("ENGINE_CAMPAIGN", "0"))
KILLS = CAMPAIGN or 3
CHILDREN = 4
STEPS = 4

GO_ON = '<update status="102">on</update>'
SCRIPT = [
    '<set path="known://plan">four parts</set><update status="102">planned</update>',
    "".join(f'<subtask model="part{n}">Do part {n}</subtask>' for n in range(CHILDREN)) + GO_ON,
    '<update status="200">All parts are done.</update>',
]


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted model for each child, as an alias of the environment: it appends a line to its file in each turn."""
    for number in range(CHILDREN):
        steps = [
            f'<set path="part{number}.txt"><<APPEND\nline {step}\nAPPEND</set>'
            f'<set path="known://part{number}">at {step}</set>{GO_ON}'
            for step in range(STEPS)
        ]
        path = tmp_path / f"part{number}.jsonl"
        lines = [*steps, f'<update status="200">Part {number} is done.</update>']
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        monkeypatch.setenv(f"ENGINE_MODEL_part{number}", f"scripted:{path}")


def tree_of(case: Case) -> dict[str, Any]:
    """What two runs of the same tree have in common, whatever the order in which its threads came."""
    with engine.open(case.database) as db:
        log = "select run, turn, ordinal, action, target, status from run_log where turn is not null order by 1, 2, 3"
        facts = "select path, body from known_entries where run = 'crash' and scheme <> 'log' order by path"
        asked = "select r.alias, count(*) as answers from turns as t join runs as r on r.id = t.run_id group by 1"
        answers = "select run, status, answer, turns from loop_results order by run"
        return {
            "log": db.rows(log),
            "facts": [row for row in db.rows(facts) if not row["path"].startswith("prompt://")],
            "asked": db.rows(asked),
            "answers": db.rows(answers),
            # who is killed when a run has ended leaves its lease to whoever drives that run next
            "leases": db.rows("select l.* from run_leases as l join open_prompts as o on o.run = l.run"),
            "files": files(case.root),
        }


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
def test_a_killed_tree_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = new_case(tmp_path / "whole", {}, SCRIPT, 1)
    process = whole.start()
    began = time.monotonic()
    result = ended(process)
    spent = time.monotonic() - began
    assert result["status"] == 200, result
    expected = tree_of(whole)
    lines = "".join(f"line {step}\n" for step in range(STEPS))
    assert expected["files"] == {f"part{number}.txt": lines for number in range(CHILDREN)}
    numbers = iter(range(10_000))
    for kill in range(KILLS):
        moment = (kill + random.Random(kill).random()) / KILLS * spent
        case = killed_once(lambda: new_case(tmp_path / str(next(numbers)), {}, SCRIPT, 1), moment)
        audit(case.database)
        assert case.finish() == result
        audit(case.database)
        assert tree_of(case) == expected, moment


@pytest.mark.usefixtures("parts")
def test_a_tree_that_is_killed_again_and_again_ends(tmp_path: Path) -> None:
    case, source = new_case(tmp_path / "case", {}, SCRIPT, 1), random.Random(7)
    for _ in range(CAMPAIGN or 2):
        if not kill_after(case.start(), source.uniform(0.2, 1.0)):
            break
    assert case.finish()["status"] == 200
    audit(case.database)
    assert sorted(files(case.root).values()) == ["".join(f"line {step}\n" for step in range(STEPS))] * CHILDREN
