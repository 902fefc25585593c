"""A turn reads no more as its prompt goes on: no statement of it reads all turns that stand behind it.

Counted are the instructions of SQLite, which are the same on every machine and under every load.

spec: @turns_table @packet_structure
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest
from counters import Counters

import engine
from engine.models.protocol import Completion, Request

TURNS = 200
EARLY, LATE = range(100, 120), range(180, 200)
MOST_GROWTH = 1.25
CONTEXT = 14_000
"""Tokens; small, so that the packet is as large as it gets long before the turns that are compared."""


class Metered:
    """A model that acts in each turn; the instructions of each statement are counted by turns."""

    name, context_window = "metered", None

    def __init__(self) -> None:
        self.turn = 0
        self.early, self.late = Counter[str](), Counter[str]()
        self._counters = Counters()

    def hear(self, event: dict[str, Any]) -> None:
        if "data_version" in event["sql"]:  # full text search keeps it; what is counted of it is the sum of all turns
            return
        steps = self._counters.of(event)
        if self.turn in EARLY:
            self.early[event["sql"]] += steps
        elif self.turn in LATE:
            self.late[event["sql"]] += steps

    def complete(self, request: Request, *_: Any, **__: Any) -> Completion:
        self.turn += 1
        acts = f'<set path="known://{self.turn}">{self.turn}</set><get path="known://{self.turn}"/>'
        return Completion(f'{acts}<update status="{200 if self.turn == TURNS else 102}">on</update>')


@pytest.mark.parametrize("has_folder", [True, False], ids=["in a folder", "without a folder"])
def test_a_late_turn_reads_as_much_as_an_early_one(tmp_path: Path, *, has_folder: bool) -> None:
    model = Metered()
    with engine.open(tmp_path / "t.db") as db:
        db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, model.hear)
        root = tmp_path if has_folder else None
        result = db.run("Go", run="demo", model=model, root=root, context_limit=CONTEXT, max_turns=TURNS + 1)
        db.connection.trace_v2(0, None)
    assert (result.status, result.turns) == (200, TURNS)
    grown = {
        sql[:90]: (model.early[sql], steps)
        for sql, steps in model.late.items()
        if steps > MOST_GROWTH * model.early[sql] + 200 * len(LATE)
    }
    assert model.early
    assert not grown
