"""How long many files take: a question over all of them, and the tasks of a fleet."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engine

from .scenario import write_script
from .table import Line
from .tree import compiled_once

TARGET_S = 5.0
SHARE_TARGET = 0.85
QUERY = "select day, model, sum(calls) as calls, total(known_cost) as cost from cost_by_day group by day, model"
_ANSWERS = ('<set path="known://a">1</set>', '<get path="known://a"/>', '<update status="200">done</update>')
_MODEL_S = 0.05
_AT_ONCE = 4
_FLEET = [sys.executable, "-c", "import sys; from engine.cli.main import main; sys.exit(main())", "fleet", "run"]


def bench_fleet(files: int = 1_000, tasks: int = 2_000) -> list[Line]:
    """Seconds on the clock for cost by day and model over copies of a file, each of which nobody writes; and the share of
    the ideal time that a fleet of tasks of three turns reaches.
    """
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        return [_question(Path(name), files), *_tasks(Path(name), tasks)]


def _question(folder: Path, files: int) -> Line:
    (folder / "files").mkdir()
    first = folder / "files" / "first.db"
    with engine.open(first) as db:
        db.run("Hi", run="demo", model=write_script(folder / "script.jsonl", 3))
    for number in range(files - 1):
        shutil.copy(first, first.with_name(f"{number}.db"))
    for path in first.parent.glob("*.db"):
        os.utime(path, (time.time() - 60,) * 2)
    asked = engine.analysis(first.with_name("*.db"))
    asked.sql(QUERY.replace("group by", "where 1 = 0 group by"))  # what is imported is not counted
    before = time.perf_counter()
    (row,) = asked.sql(QUERY)
    seconds = time.perf_counter() - before
    assert row["calls"] == files * 3
    return Line(f"cost by day and model over {files:,} files", seconds, "s", TARGET_S if files >= 1_000 else None)


def _tasks(folder: Path, tasks: int) -> list[Line]:
    """What `engine fleet run` takes, its start included. Four tasks at once that only waited for models are the ideal."""
    lines = [json.dumps({"text": text, "delay_s": _MODEL_S}) for text in _ANSWERS]
    (folder / "model.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = (json.dumps({"id": f"t{number}", "prompt": f"Do {number}"}) for number in range(tasks))
    (folder / "tasks.jsonl").write_text("\n".join(told) + "\n", encoding="utf-8")
    words = ["tasks.jsonl", "--files", "out/{id}.db", "--model", f"scripted:{folder}/model.jsonl"]
    before, used = time.perf_counter(), _used()
    subprocess.run(
        [*_FLEET, *words, "--concurrency", str(_AT_ONCE)],
        cwd=folder,
        env=compiled_once(),
        check=True,
        capture_output=True,
    )
    seconds, used = time.perf_counter() - before, _used() - used
    ideal = tasks * len(_ANSWERS) * _MODEL_S / _AT_ONCE
    return [
        Line(
            f"{tasks:,} tasks of three turns, {_AT_ONCE} at once: share of the ideal time",
            ideal / seconds,
            "",
            SHARE_TARGET if tasks >= 1_000 else None,
            f"{seconds:.1f} s, ideal {ideal:.1f} s",
            at_least=True,
        ),
        Line("a task with a file of its own", 1000 * used / tasks, "ms", None, "CPU, workers and start included"),
    ]


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
