"""Workflows: how long it takes to read one of 10,000 steps, and to say which of them are ready."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import engine

from .table import Line

STEPS = 10_000
WIDTH = 100
"""Steps of a layer; each but those of the first needs three of the layer before."""
TIMES = 20


def bench_workflows(steps: int = STEPS) -> list[Line]:
    """Milliseconds of CPU with so many steps: read, start; with a half completed ask what is ready, begin one, end it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "w.db")) as db:
        reading = _ms(lambda: db.insert("verb_write_workflow", syntax="jsonc", text=_text(steps)))
        starting = _ms(lambda: db.insert("verb_start_workflow", run="wf", workflow_id=1))
        db.execute("update step_runs set state = 'running' where layer <= :half", {"half": steps // WIDTH // 2})
        db.execute("update step_runs set state = 'completed' where state = 'running'")
        ready = "select step from _ready_steps where run_id = 1 limit 8"
        asking = min(_ms(lambda: db.rows(ready)) for _ in range(TIMES))
        everything = min(_ms(lambda: db.rows("select step from _ready_steps where run_id = 1")) for _ in range(TIMES))
        one = db.rows(ready)[0]["step"]
        beginning = _ms(lambda: db.insert("_start_step", run="wf", step=one, prompt="Do it"))
        loop = db.value("select max(id) from loops")
        db.insert("_move_loop", loop_id=loop, status=102)
        db.insert("_move_loop", loop_id=loop, status=200)
        ending = _ms(lambda: db.insert("_end_step", run="wf", step=one))
    return [
        Line(f"workflows: read {steps:,} steps and store them", reading, "ms"),
        Line("workflows: start a run of them", starting, "ms"),
        Line(f"workflows: the next 8 ready of {steps // 2:,} that wait", asking, "ms"),
        Line(f"workflows: all that are ready of {steps // 2:,} that wait", everything, "ms", target=50),
        Line("workflows: begin a step", beginning, "ms"),
        Line("workflows: take how it ended", ending, "ms"),
    ]


def _text(count: int) -> str:
    steps = [
        {
            "id": f"s{step}",
            "instruction": "Do it.",
            "needs": [f"s{step - WIDTH - (step + each) % WIDTH}" for each in range(3)] if step >= 2 * WIDTH else [],
        }
        for step in range(count)
    ]
    return json.dumps({"name": "w", "description": "d", "steps": steps})


def _ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000
