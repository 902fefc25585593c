"""Undo and rewind in a file of many runs: what they cost grows with the edits of the file, not with its square.

spec: @undo @rewind
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from counters import Counters
from driving import script
from fresh import fresh

import engine


def _steps(runs: int, folder: Path, act: Callable[[engine.Database, str], object]) -> int:
    """The most instructions of SQLite that one statement takes of `act` on the last of so many runs of two edits each."""
    root = folder / f"of {runs}"
    root.mkdir()
    most, counters = 0, Counters()

    def hear(event: dict[str, Any]) -> None:
        nonlocal most
        most = max(most, counters.of(event))

    with fresh() as db:
        db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, hear)
        for number in range(runs):
            texts = (
                f'<set path="a{number}.txt">1\n</set><update status="102">on</update>',
                f'<set path="b{number}.txt">2\n</set><update status="200">done</update>',
            )
            db.run("Write", run=f"r{number}", model=script(folder, *texts), root=root, yolo=True)
        most = 0
        act(db, f"r{runs - 1}")
        db.connection.trace_v2(0, None)
        assert sum(1 for _ in root.iterdir()) == 2 * runs - 1
    return most


def test_an_undo_takes_no_square_of_the_runs(tmp_path: Path) -> None:
    few, many = (_steps(runs, tmp_path, lambda db, run: db.undo(run)) for runs in (8, 40))
    assert many < 7 * few


def test_a_rewind_takes_no_square_of_the_runs(tmp_path: Path) -> None:
    few, many = (_steps(runs, tmp_path, lambda db, run: db.rewind(run, 2, files=True)) for runs in (8, 40))
    assert many < 7 * few
