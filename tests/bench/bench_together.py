"""How long runs take that an app drives at once with asyncio, where each waits for its model."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path

import engine

from .table import Line

_RUNS = 24
_MODEL_S = 1.5
_TARGET_S = 2.5


def bench_together(runs: int = _RUNS, model_s: float = _MODEL_S) -> list[Line]:
    """Seconds until all of some runs have ended, in one file and in a file each."""
    note = f"{runs} runs, each model takes {model_s} s; two cores"
    return [
        Line("runs at once, in one file", _seconds(runs, model_s, one_file=True), "s", _TARGET_S, note),
        Line("runs at once, in a file each", _seconds(runs, model_s, one_file=False), "s", _TARGET_S, note),
    ]


def _seconds(runs: int, model_s: float, *, one_file: bool) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.jsonl"
        script.write_text(json.dumps({"text": '<update status="200">Done.</update>', "delay_s": model_s}) + "\n")
        paths = [folder / ("a.db" if one_file else f"{number}.db") for number in range(runs)]
        return asyncio.run(_timed(paths, f"scripted:{script}"))


async def _timed(paths: list[Path], model: str) -> float:
    files = {path: await engine.open_async(path) for path in paths}
    began = time.perf_counter()
    results = await asyncio.gather(*(files[path].run_async("Go", model=model) for path in paths))
    seconds = time.perf_counter() - began
    assert [result.status for result in results] == [200] * len(paths)
    await asyncio.gather(*(db.close_async() for db in files.values()))
    return seconds
