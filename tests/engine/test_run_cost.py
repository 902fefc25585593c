"""What a run costs is the same in a file of few runs and in one of many: no statement of it reads the others.

spec: @runs_table
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import apsw
import pytest
from counters import Counters
from driving import DONE, GO_ON, script
from fresh import fresh

import engine

FEW, MANY = 5, 105


def _steps(folder: Path, runs: int, **options: Any) -> dict[str, int]:
    """The instructions of SQLite that each statement of a run takes, after so many runs of others and forks of these."""
    root = folder / str(runs)
    root.mkdir()
    (root / "a.md").write_text("text\n", encoding="utf-8")
    edits = (
        f'<get path="a.md"/><set path="known://x">1</set>{GO_ON}',
        f'<set path="b.md">2\n</set><sh>cat b.md</sh>{GO_ON}',
        DONE,
    )
    steps: dict[str, int] = defaultdict(int)
    counters = Counters()

    def hear(event: dict[str, Any]) -> None:
        if "data_version" in event["sql"]:  # full text search keeps it; what is counted of it is the sum of all runs
            return
        steps[event["sql"]] += counters.of(event)

    def drive(db: engine.Database, run: str) -> None:
        assert db.run("Go", run=run, model=script(folder, *edits), root=root, yolo=True, **options).status == 200
        assert db.run("On", run=run, model=script(folder, *edits, DONE), **options).status == 200

    with fresh() as db:
        db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, hear)
        for number in range(runs):
            db.run("Go", run=f"other{number}", model=script(folder, DONE), **options)
            db.insert("verb_set", run=f"other{number}", path="known://x", body="text")
            if number % 10 == 0:
                db.fork(f"other{number}", f"fork{number}")
        drive(db, "first")
        steps.clear()
        drive(db, "last")
        db.connection.trace_v2(0, None)
    return steps


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_calls": 1000, "max_tokens": 10**9},
        {"model_options": {"seed": 1}},
        {"fallback_models": ["scripted:none"]},
    ],
    ids=["plain", "limits", "settings of the model", "fallbacks"],
)
def test_a_run_costs_the_same_in_a_file_of_many(tmp_path: Path, options: dict[str, Any]) -> None:
    few, many = _steps(tmp_path, FEW, **options), _steps(tmp_path, MANY, **options)
    assert set(many) == set(few)
    grown = {sql: (few[sql], many[sql]) for sql in many if many[sql] > 1.2 * few[sql] + 50}
    assert grown == {}
    assert sum(many.values()) < 1.02 * sum(few.values())
