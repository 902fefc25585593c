"""A fleet on a Ray of this machine, where Ray is installed: its workers reach the manifest through an actor.

spec: @fleet_workers
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.fleet.executors import executor
from engine.fleet.manifest import Manifest
from engine.fleet.running import Fleet
from engine.fleet.tasks import read_tasks

SETTINGS = {
    "files": "out/{id}.db",
    "concurrency": 2,
    "max_cost": 1.0,
    "call_cost": 0.01,
    "max_output": 9,
    "options": "{}",
}


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "engine.fleet.on_ray", raising=False)
    with pytest.raises(EngineError, match=r"Ray is not installed; pip install 'engine\[ray\]' brings it"):
        executor("local")


def test_tasks_of_ray_carry_a_fleet_out(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    answers = ('<set path="known://a">1</set>', '<update status="200">ok</update>')
    lines = [json.dumps({"text": text, "usage": {"cost": 0.01}}) for text in answers]
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"id": f"t{n}", "prompt": "x"}) + "\n" for n in range(4)))
    model = {"model": f"scripted:{tmp_path}/s.jsonl"}
    tasks = read_tasks(tmp_path / "t.jsonl", str(tmp_path / "out" / "{id}.db"), None, model)
    with Manifest.make(tmp_path / "t.fleet.db", SETTINGS, tasks, ()) as manifest:
        status = Fleet(manifest, executor("local"), 2, 2).run()
        assert (status["done"], status["spent"]) == (4, pytest.approx(0.08))
        assert {row["worker"] for row in manifest.rows("select worker from attempt_log")} == {"ray"}
