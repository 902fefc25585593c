"""How long a question over many files takes: what one day and one model cost."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import engine

from .scenario import write_script
from .table import Line

TARGET_S = 5.0
QUERY = "select day, model, sum(calls) as calls, total(known_cost) as cost from cost_by_day group by day, model"


def bench_fleet(files: int = 1_000) -> list[Line]:
    """Seconds on the clock for cost by day and model over copies of a file, each of which nobody writes."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        folder = Path(name)
        with engine.open(folder / "first.db") as db:
            db.run("Hi", run="demo", model=write_script(folder / "script.jsonl", 3))
        for number in range(files - 1):
            shutil.copy(folder / "first.db", folder / f"{number}.db")
        for path in folder.glob("*.db"):
            os.utime(path, (time.time() - 60,) * 2)
        asked = engine.analysis(folder / "*.db")
        asked.sql(QUERY.replace("group by", "where 1 = 0 group by"))  # what is imported is not counted
        before = time.perf_counter()
        (row,) = asked.sql(QUERY)
        seconds = time.perf_counter() - before
        assert row["calls"] == files * 3
    return [Line(f"cost by day and model over {files:,} files", seconds, "s", TARGET_S if files >= 1_000 else None, "")]
