"""Child runs: what they have from their parent, and several that are driven at once.

1. A child has a fresh view, its parent's folder and at most its rights. 2. Several are driven at once and call back in one
thread, each with its name. 3. A stop leaves all of them resumable; an abort goes down the tree, never up.

spec: @children
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from driving import DONE, GO_ON, begin, script
from timing import ends_despite, interrupted, slow_signal

import engine
from engine.driving.children import Children
from engine.errors import EngineError


def start(db: engine.Database, parent: str, prompt: str = "Do a part", role: str = "subtask", **attributes: Any) -> str:
    """A child of `parent`; returns its name."""
    parent_id = db.value("select id from runs where alias = ?", (parent,))
    db.insert(
        "_start_child", parent_run_id=parent_id, role=role, prompt=prompt, attributes=json.dumps(attributes or {})
    )
    return str(db.value("select alias from runs where id = (select max(run_id) from children)"))


def config_of(db: engine.Database, run: str) -> dict[str, Any]:
    row = db.row("select l.mode, l.config from loops as l join runs as r on r.id = l.run_id where r.alias = ?", (run,))
    assert row is not None
    return {"mode": row["mode"], **json.loads(row["config"])}


def test_a_child_has_no_right_that_its_parent_has_not(db: engine.Database) -> None:
    begin(db, "demo", mode="ask", no_web=1, no_processes=1, sandbox="require", network="a.example")
    child = start(db, "demo", mode="act", yolo=1, sandbox="off", network="all", overwrite_unseen=1, no_repo=1)
    assert config_of(db, child) == {
        "mode": "ask",
        "no_repo": 1,
        "no_web": 1,
        "no_processes": 1,
        "sandbox": "require",
        "network": "a.example",
    }
    assert config_of(db, start(db, child))["no_repo"] == 1


def test_a_child_has_what_its_parent_may_do(db: engine.Database) -> None:
    begin(db, "demo", yolo=1, overwrite_unseen=1, max_turns=7)
    assert config_of(db, start(db, "demo", max_turns=3)) == {
        "mode": "act",
        "yolo": 1,
        "overwrite_unseen": 1,
        "max_turns": 3,
    }


def test_a_child_has_no_more_seconds_than_its_parent_has_left(db: engine.Database) -> None:
    begin(db, "demo", max_seconds=1000)
    db.insert("_begin_turn", run="demo")
    assert 900 < config_of(db, start(db, "demo", max_seconds=5000))["max_seconds"] <= 1000
    assert config_of(db, start(db, "demo", max_seconds=5))["max_seconds"] == 5
    assert 900 < config_of(db, start(db, "demo"))["max_seconds"] <= 1000


def test_children_are_named_after_their_parent(db: engine.Database) -> None:
    begin(db, "demo")
    begin(db, "demo-2")
    assert [start(db, "demo"), start(db, "demo"), start(db, "demo-1")] == ["demo-1", "demo-3", "demo-1-1"]
    assert db.rows("select role, depth, forked_at from runs where alias = 'demo-1-1'") == [
        {"role": "subtask", "depth": 2, "forked_at": None}
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"role": "main"}, "role must be subtask, execute, judge, workflow or step, not 'main'"),
        ({"prompt": " "}, "is empty"),
        ({"root": "/"}, "works in its parent's folder; leave out root"),
        ({"fork": "demo"}, "leave out fork"),
        ({"nonsense": 1}, "'nonsense' is not an option"),
        ({"mode": "all"}, "mode must be ask or act, not 'all'"),
        ({"persona": "nobody"}, "not found"),
    ],
)
def test_a_wrong_child_is_refused_and_leaves_nothing(db: engine.Database, given: dict[str, Any], said: str) -> None:
    begin(db, "demo")
    with pytest.raises(EngineError, match=said):
        start(db, "demo", **given)
    assert [run.run for run in db.runs()] == ["demo"]


def test_children_are_driven_at_once_and_call_back_in_one_thread(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    root = tmp_path / "root"
    root.mkdir()
    met = threading.Barrier(3, timeout=300)

    class Together:
        name = "together"

        def complete(self, request: Any, *_: Any) -> Any:
            from engine.models.protocol import Completion, Usage

            met.wait()  # passes only while all three are asked
            return Completion(f"{request.run} says{DONE}", "", Usage())

    model = db.give_model(Together())  # type: ignore[arg-type]
    runs = [start(db, "demo", model=model) for _ in range(3)]
    threads, said, rested = set(), [], []

    def hear(event: Any) -> None:
        threads.add(threading.get_ident())
        if event["type"] == "loop":
            said.append((event["run"], event["status"]))

    Children(db, threading.Event(), hear).drive(runs, rested.append)
    assert threads == {threading.get_ident()}
    assert sorted(said) == [(run, 200) for run in runs]
    assert sorted(rested) == runs


def test_an_error_of_a_callback_stops_the_siblings_which_can_be_resumed(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    runs = [start(db, "demo", model=script(tmp_path, GO_ON, DONE)) for _ in range(3)]
    first: list[str] = []

    def fail(event: Any) -> None:
        first.append(event["run"])
        raise KeyError("not this")

    with pytest.raises(KeyError):
        Children(db, threading.Event(), fail).drive(runs)
    assert len(first) == 1
    assert db.value("select count(*) from leases") == 0
    Children(db, threading.Event()).drive(runs)
    assert [db.result(run).status for run in runs] == [200, 200, 200]


def test_a_stop_of_the_parent_stops_the_children(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    model = script(tmp_path, {"text": DONE, "delay_s": 600})
    runs = [start(db, "demo", model=model) for _ in range(2)]
    stopped = threading.Event()

    def hear(event: Any) -> None:
        if event["type"] == "turn":
            stopped.set()

    Children(db, stopped, hear).drive(runs)
    assert db.value("select count(*) from leases") == 0
    assert db.value("select count(*) from turns where response is not null") == 0
    assert {row["status"] for row in db.rows("select status from loops where run_id > 1")} <= {100, 102}


def test_a_signal_that_outlasts_a_look_stops_the_children(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    run, stopped = start(db, "demo", model=script(tmp_path, {"text": DONE, "delay_s": 600})), threading.Event()
    with slow_signal(stopped.set):
        Children(db, stopped).drive([run])
    assert db.value("select count(*) from turns where response is not null") == 0


def test_a_signal_that_comes_while_children_are_stopped_stops_them(db: engine.Database) -> None:
    """Both waited for the lock of an event, for ever."""
    children = Children(db, threading.Event())
    for file in ("children.py", "waiting.py"):
        assert ends_despite(children.stop, children.stop, file)
    assert children.stopping.is_set()


@pytest.mark.parametrize(
    "name", ["_start", "start", "_serve", "wait", "pass_on_stop", "_rest", "_finish_delegation", "hear"]
)
def test_an_interruption_of_the_parent_ends_its_children(db: engine.Database, tmp_path: Path, name: str) -> None:
    """What a child had asked for was lost with it, and child and parent waited for each other."""
    begin(db, "demo")
    runs = [start(db, "demo", model=script(tmp_path, GO_ON, DONE)) for _ in range(2)]

    def hear(_: Any) -> None: ...

    def _finish_delegation(_: str) -> None: ...

    def here(frame: FrameType, event: str) -> bool:
        return event == "return" and frame.f_code.co_name == name

    with interrupted(here), pytest.raises(KeyboardInterrupt):
        Children(db, threading.Event(), hear).drive(runs, _finish_delegation)
    assert "engine child" not in [thread.name for thread in threading.enumerate() if thread.is_alive()]
    assert db.value("select count(*) from leases") == 0
    Children(db, threading.Event()).drive(runs)
    assert [db.result(run).status for run in runs] == [200, 200]


def test_children_of_a_database_in_memory_are_driven_in_turn(tmp_path: Path) -> None:
    with engine.open(":memory:") as db:
        begin(db, "demo")
        runs = [start(db, "demo", model=script(tmp_path, GO_ON, DONE)) for _ in range(2)]
        rested: list[str] = []
        Children(db, threading.Event()).drive(runs, rested.append)
        assert rested == runs
        assert [db.result(run).status for run in runs] == [200, 200]


def test_an_abort_goes_down_and_never_up(db: engine.Database) -> None:
    begin(db, "demo")
    child = start(db, "demo")
    below, sibling = start(db, child), start(db, "demo")
    db.abort(child)
    assert {run.run: run.status for run in db.runs()} == {"demo": 100, child: 499, below: 499, sibling: 100}
    db.abort("demo")
    assert db.result(sibling).status == 499
    assert [row["status"] for row in db.rows("select status from loops order by id")] == [100, 499, 499, 499]


def test_an_abort_leaves_what_has_ended(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    child = start(db, "demo", model=script(tmp_path, DONE))
    Children(db, threading.Event()).drive([child])
    db.abort("demo")
    assert db.result(child).status == 200
    assert db.value("select status from runs where alias = ?", (child,)) == 200
