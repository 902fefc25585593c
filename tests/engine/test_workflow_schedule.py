"""Which step of a workflow may begin, against a small model of it: random graphs, random ends, in any order.

1. A step begins once, after all that it needs, and never after a failure. 2. The first failure ends the others.

spec: @_ready_steps @workflow_runs
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest
from campaign import examples
from fresh import fresh
from hypothesis import given
from hypothesis import strategies as st

import engine

GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.tuples(
        *(st.lists(st.integers(0, max(step - 1, 0)), max_size=3, unique=True) for step in range(size))
    )
)
ENDS = st.lists(st.tuples(st.integers(0, 99), st.sampled_from([200, 200, 200, 200, 204, 500, 499, 422])), max_size=30)


NUMBERS = count(1)


class Reference:
    """What a workflow does, told in sets."""

    def __init__(self, needs: dict[str, list[str]]) -> None:
        self.needs = needs
        self.waiting, self.running, self.done = set(needs), set[str](), set[str]()
        self.failed: str | None = None

    def ready(self) -> set[str]:
        return {step for step in self.waiting if not self.failed and self.done.issuperset(self.needs[step])}

    def begin(self, step: str) -> None:
        assert step in self.ready()
        self.waiting.remove(step)
        self.running.add(step)

    def end(self, step: str, well: bool) -> None:
        self.running.remove(step)
        if well:
            self.done.add(step)
        else:
            self.failed, self.running = step, set()

    def behind(self, step: str) -> set[str]:
        """The steps that need `step`, or one that does."""
        found = {step}
        while more := {each for each in self.needs if each not in found and found & set(self.needs[each])}:
            found |= more
        return found - {step}


def text_of(needs: dict[str, list[str]]) -> str:
    steps = [{"id": step, "instruction": f"Do {step}", "needs": wanted} for step, wanted in needs.items()]
    # in any order: what a step needs may stand behind it
    return json.dumps({"name": "w", "description": "d", "steps": steps[::-1]})


@pytest.fixture(scope="module")
def shared() -> Iterator[engine.Database]:
    with fresh() as db:
        yield db


def ready(db: engine.Database, run: str) -> list[str]:
    return [row["step"] for row in db.rows("select step from _ready_steps where run = ?", (run,))]


def end_child(db: engine.Database, run: str, step: str, status: int) -> None:
    """The run of a step ends, as its driver would end it."""
    child = "select l.id from step_list as s join runs as r on r.alias = s.child join loops as l on l.run_id = r.id "
    loop = db.value(f"{child}where s.run = ? and s.step = ?", (run, step))
    db.insert("_move_loop", loop_id=loop, status=102)
    db.insert("_move_loop", loop_id=loop, status=status)
    db.insert("_end_step", run=run, step=step)


@given(graph=GRAPHS, ends=ENDS)
@examples(25)
def test_steps_begin_once_after_what_they_need_and_never_after_a_failure(
    shared: engine.Database, graph: tuple[list[int], ...], ends: list[tuple[int, int]]
) -> None:
    db, run = shared, f"wf{next(NUMBERS)}"
    needs = {f"s{step}": [f"s{each}" for each in wanted if each < step] for step, wanted in enumerate(graph)}
    db.insert("verb_write_workflow", syntax="jsonc", text=text_of(needs))
    db.insert("verb_start_workflow", run=run, workflow_id=db.value("select workflow_id from workflow_list"))
    model = Reference(needs)
    for choice, status in ends:
        for step in ready(db, run)[: 1 + choice % 3]:
            db.insert("_start_step", run=run, step=step, prompt="Do it")
            model.begin(step)
        if not model.running:
            break
        step = sorted(model.running)[choice % len(model.running)]
        end_child(db, run, step, status)
        model.end(step, status in (200, 204))
        # what has ended is not taken, and what has begun not begun, a second time
        db.insert("_end_step", run=run, step=step)
        db.insert("_start_step", run=run, step=step, prompt="Do it again")
        assert set(ready(db, run)) == model.ready()
    rows = db.rows("select step, state, reason, child from step_list where run = ?", (run,))
    for state, steps in {"completed": model.done, "running": model.running}.items():
        assert {row["step"] for row in rows if row["state"] == state} == steps
    if model.failed:
        assert {row["step"] for row in rows if row["state"] == "skipped"} == model.waiting
        told = {row["step"]: row["reason"] for row in rows}
        for step in model.waiting:
            needed = step in model.behind(model.failed)
            assert (
                told[step] == f"{'it needs ' if needed else ''}step {model.failed}{', which' if needed else ''} failed"
            )
    db.insert("_end_workflow", run=run)
    over = bool(model.failed) or len(model.done) == len(needs)
    ended = 500 if model.failed else 200
    assert db.value("select status from runs where alias = ?", (run,)) == (ended if over else 102)
    begun = db.value(
        "select count(*) from children as c join runs as r on r.id = c.parent_run_id where r.alias = ?", (run,)
    )
    assert begun == len({row["child"] for row in rows} - {None})
