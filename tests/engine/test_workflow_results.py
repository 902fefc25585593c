"""What a run of a workflow says of its steps' results.

1. It counts as accepted where each step does that was verified; the reason names those that do not, and the command exits
with 1. 2. A step whose command was rejected has failed, and says so. 3. Every view
has what its steps used as what it cost.

spec: @workflow_runs @_ready_steps @workflow_steps @acceptance_verdict @trees @people_views @run_state_view
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from driving import opened, script
from engine_cli import engine as cli
from workflow_steps import said, workflow

import engine
from engine.models.protocol import Completion, Usage

REFUSED = "not accepted after 1 attempt: never"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the project, in which the workflow does not lie: so it may name any model."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def step(folder: Path, verdict: str | None, *, needs: tuple[str, ...] = (), result: str = "done") -> dict[str, Any]:
    """A step with one result, on which a judge has this verdict; None: it has no criteria."""
    judged = {"criteria": ["c"], "max_attempts": 1, "model": script(folder, verdict or "")}
    return {"needs": list(needs), "answers": [said(result)], **({"acceptance": judged} if verdict else {})}


def prompt_of(db: engine.Database, run: str) -> str:
    return str(db.value("select prompt from loop_list where run = ?", (run,)))


@pytest.mark.parametrize(
    ("first", "last", "accepted", "reason"),
    [
        (None, None, None, None),
        ("PASS", None, True, None),
        ("PASS", "PASS", True, None),
        (None, "FAIL never", False, f"step z: {REFUSED}"),
        ("FAIL never", "PASS", False, f"step a: {REFUSED}"),
        ("FAIL never", "FAIL never", False, f"step a: {REFUSED}; step z: {REFUSED}"),
    ],
)
def test_a_workflow_is_accepted_where_its_verified_steps_are(
    db: engine.Database,
    tmp_path: Path,
    root: Path,
    first: str | None,
    last: str | None,
    accepted: bool | None,
    reason: str | None,
) -> None:
    steps = {"a": step(tmp_path, first), "z": step(tmp_path, last, needs=("a",), result="the last")}
    result = db.run_workflow(workflow(tmp_path, steps), run="wf", root=root)
    assert (result.status, result.answer, result.accepted, result.reason) == (200, "the last", accepted, reason)
    refused = [row["step"] for row in db.steps("wf") if row["reason"] == REFUSED]
    assert refused == [name for name, verdict in (("a", first), ("z", last)) if verdict == "FAIL never"]
    assert {row["state"] for row in db.steps("wf")} == {"completed"}
    begins = f"[{REFUSED}]\ndone" if "a" in refused else "done"
    assert f'<result step="a">\n{begins}\n</result>' in prompt_of(db, "wf-z")


def test_a_workflow_with_a_step_that_was_not_accepted_exits_with_1(tmp_path: Path) -> None:
    path = workflow(tmp_path, {"z": step(tmp_path, "FAIL never", result="try")})
    assert cli(tmp_path, "workflow", "confirm", path.name, "--yes").returncode == 0
    ended = cli(tmp_path, "workflow", "run", path.name, "--run", "wf", "--json")
    assert ended.returncode == 1, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["status"], told["answer"], told["accepted"]) == (200, "try", False)
    for shown in (("workflow", "show", "wf"), ("show", "wf"), ("log", "wf")):
        assert REFUSED in cli(tmp_path, *shown).stdout


def test_a_step_whose_command_was_rejected_has_failed_and_says_so(
    db: engine.Database, tmp_path: Path, root: Path
) -> None:
    path = workflow(
        tmp_path, {"a": {"answers": ["I look.\n<sh>echo hi</sh>"]}, "b": {"needs": ["a"], "answers": [said("b")]}}
    )
    result = db.run_workflow(path, run="wf", root=root, on_proposal=lambda _: False)
    assert (result.status, result.accepted, result.reason) == (500, None, "step a failed: a command was rejected")
    assert [(row["state"], row["status"], row["reason"]) for row in db.steps("wf")] == [
        ("failed", 403, "a command was rejected"),
        ("skipped", None, "it needs step a, which failed"),
    ]


class Priced:
    """A model whose answers cost these prices, one after the other; None: unknown."""

    def __init__(self, *prices: float | None) -> None:
        self._prices = iter(prices)

    def complete(self, *_: object) -> Completion:
        """The next answer."""
        return Completion(said("done"), usage=Usage(prompt_tokens=10, completion_tokens=5, cost=next(self._prices)))


@pytest.mark.parametrize(
    ("prices", "cost", "shown"), [((0.25, 0.25), 0.5, "$0.5000"), ((0.25, None), None, "price unknown")]
)
def test_every_view_has_the_cost_of_the_steps(
    tmp_path: Path, root: Path, prices: Sequence[float | None], cost: float | None, shown: str
) -> None:
    steps: dict[str, dict[str, Any]] = {"a": {}, "b": {"needs": ["a"]}}
    with opened(tmp_path) as db:
        result = db.run_workflow(workflow(tmp_path, steps), run="wf", root=root, model=Priced(*prices))
        assert (result.cost, result.tree_cost) == (cost, cost)
        for view in ("run_overview", "loop_results"):
            assert db.rows(f"select cost, tree_cost from {view} where run = 'wf'") == [
                {"cost": cost, "tree_cost": cost}
            ]
        figures = json.loads(str(db.value("select telemetry from run_state where run = 'wf'")))
        sums = {"prompt_tokens": 20, "completion_tokens": 10, "turns": 2, "cost": cost}
        assert {name: figures[name] for name in sums} == sums
        path = db.path
    assert f"\ncost: {shown}\n" in cli(root, "log", "wf", "--db", str(path)).stdout


def test_criteria_stand_once_in_the_prompt_of_a_step(db: engine.Database, tmp_path: Path, root: Path) -> None:
    step = {"answers": [said("a")], "acceptance": {"command": "true # the only way"}}
    db.run_workflow(workflow(tmp_path, {"a": step}), run="wf", root=root, yolo=True)
    sent = db.value("select body from packet_texts where run = 'wf-a' and role = 'user' and turn = 1")
    assert sent.count("true # the only way") == 1
