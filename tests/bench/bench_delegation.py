"""What delegation costs: children at once and in turn, many children in one file, and a run that delegates nothing."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from threading import Event
from typing import Any

import engine
from engine.driving.children import Children
from engine.models.protocol import Completion, Request, Usage

from .table import Line

_CHILDREN = 8
_TURNS = 10
_MODEL_S = 0.05
_MANY = 1_000
_ON, _DONE = '<update status="102">on</update>', '<update status="200">Done.</update>'


class _Part:
    """A model that takes its time and is done after some turns."""

    def __init__(self, name: str, turns: int, seconds: float) -> None:
        self.name = name
        self._turns = turns
        self._seconds = seconds

    def complete(self, request: Request, _: Any = None, cancelled: Event | None = None) -> Completion:
        """An answer that keeps a fact, after some seconds."""
        (cancelled or Event()).wait(self._seconds)
        fact = f'<set path="known://{request.run}_{request.position}">a fact</set>'
        return Completion(_DONE if request.position + 1 >= self._turns else fact + _ON, "", Usage(10, 0, 5, 0, 0.0))


def bench_delegation(
    children: int = _CHILDREN, turns: int = _TURNS, model_s: float = _MODEL_S, many: int = _MANY
) -> list[Line]:
    """Seconds of eight children in turn and at once, and of a thousand."""
    in_turn, at_once = (_seconds(children, each, turns=turns, model_s=model_s) for each in (1, children))
    note = f"{children} children of {turns} turns, the model takes {model_s * 1000:.0f} ms; two cores"
    each_of_many = _seconds(many, children, turns=1, model_s=0.0) / many
    return [
        Line("children one after the other", in_turn, "s", None, note),
        Line("children at once", at_once, "s", in_turn / 6, f"{note}; {in_turn / at_once:.1f} times as fast"),
        Line("a child of a thousand in one file", each_of_many * 1000, "ms", 50, f"{many} children of one turn"),
    ]


def _seconds(children: int, at_once: int, *, turns: int, model_s: float) -> float:
    with tempfile.TemporaryDirectory() as name, engine.open(Path(name) / "a.db") as db:
        db.execute("update settings set value = ? where name = 'max_parallel_children'", (str(at_once),))
        model = db.give_model(_Part("part", turns, model_s))
        db.start("Do it", run="demo", model=_Part("part", turns, model_s))
        for _ in range(children):
            db.execute(
                "insert into _start_child (parent_run_id, role, prompt, attributes) "
                "values (1, 'subtask', 'Do a part', json_object('model', ?))",
                (model,),
            )
        runs = [row["run"] for row in db.rows("select run from tree_runs where top = 'demo' and level = 1")]
        began = time.perf_counter()
        Children(db, Event()).drive(runs)
        return time.perf_counter() - began
