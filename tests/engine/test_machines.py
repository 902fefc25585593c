"""The state machines of runs, loops and turns: every edge that is allowed, and the refusal of every other.

spec: @run_state_machine @loops_table @turn_phases
"""

from __future__ import annotations

from itertools import product

import pytest
from driving import begin, turn

import engine

RUN_EDGES = {
    100: {102, 499},
    102: {200, 202, 499, 500},
    200: {102, 499},
    202: {102, 200, 499, 500},
    499: {102},
    500: {102, 499},
}
LOOP_EDGES = {100: {102, 499}, 102: {200, 204, 403, 413, 422, 499, 500}}
LOOP_STATES = (100, 102, 200, 204, 403, 413, 422, 499, 500)
RUN_AFTER_LOOP = {200: 200, 204: 200, 403: 200, 413: 500, 422: 200, 499: 499, 500: 500}
TURN_EDGES = {
    "assembling": {"asking", "voting", "judged"},
    "asking": {"assembling", "answered", "voting", "judged"},
    "answered": {"dispatching", "judged"},
    "dispatching": {"voting", "judged"},
    "judged": set(),
}
PATH_TO_RUN = {
    100: (),
    102: (102,),
    200: (102, 200),
    202: (102, 202),
    499: (102, 499),
    500: (102, 500),
}


def allowed(edges: dict[int, set[int]], source: int, target: int) -> bool:
    return target == source or target in edges.get(source, set())


def move_run(db: engine.Database, status: int) -> None:
    """Write the status of the only run; its loops are brought to where a run of that status has them."""
    active = db.value("select id from loops where status = 102")
    if status in (102, 202) and active is None:
        db.execute("update loops set status = 102 where id = (select min(id) from loops where status = 100)")
    elif status not in (102, 202) and active is not None:
        db.execute("update loops set status = 499 where id = ?", (active,))
    db.execute("update runs set status = ?", (status,))


@pytest.mark.parametrize("source", RUN_EDGES)
def test_a_run_moves_along_its_edges_only(db: engine.Database, source: int) -> None:
    for _ in range(5):
        begin(db, "demo")
    for target in RUN_EDGES:
        db.execute("begin")
        for status in PATH_TO_RUN[source]:
            move_run(db, status)
        if allowed(RUN_EDGES, source, target):
            move_run(db, target)
        else:
            with pytest.raises(
                engine.Conflict, match=f"409 run demo: its status cannot change from {source} to {target}"
            ):
                move_run(db, target)
        db.execute("rollback")


@pytest.mark.parametrize("source", LOOP_STATES)
def test_a_loop_moves_along_its_edges_only(db: engine.Database, source: int) -> None:
    begin(db, "demo")
    for target in LOOP_STATES:
        db.execute("begin")
        for status in () if source == 100 else (102,) if source == 102 else (102, source):
            db.execute("update loops set status = ?", (status,))
        if allowed(LOOP_EDGES, source, target):
            db.execute("update loops set status = ?", (target,))
        else:
            with pytest.raises(engine.Conflict, match=f"cannot change from {source} to {target}"):
                db.execute("update loops set status = ?", (target,))
        db.execute("rollback")


@pytest.mark.parametrize(("loop_status", "run_status"), RUN_AFTER_LOOP.items())
def test_a_run_takes_the_status_of_its_loop(db: engine.Database, loop_status: int, run_status: int) -> None:
    begin(db, "demo")
    db.insert("_move_loop", loop_id=1, status=102)
    assert db.value("select status from runs") == 102
    db.insert("_move_loop", loop_id=1, status=loop_status)
    assert db.row("select r.status, l.ended_at is not null as ended from runs as r join loops as l") == {
        "status": run_status,
        "ended": 1,
    }


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (source, target)
        for source, target in product(TURN_EDGES, (*TURN_EDGES, "voting"))
        if target != source and target not in TURN_EDGES[source]
    ],
)
def test_a_turn_refuses_the_phases_that_do_not_follow(db: engine.Database, source: str, target: str) -> None:
    begin(db, "demo")
    bring_to(db, source)
    assert db.value("select phase from turns") == source
    with pytest.raises(engine.Conflict, match=f"turn 1 of run demo: its phase cannot change from {source} to {target}"):
        db.execute("update turns set phase = ?", (target,))


def bring_to(db: engine.Database, phase: str) -> None:
    if phase == "judged":
        turn(db, "demo", "done")
        return
    steps = ("assembling", "asking", "answered", "dispatching")
    db.insert("_begin_turn", run="demo")
    if phase in steps[1:]:
        db.insert("_submit_packet", turn_id=1, chars=10)
    if phase in steps[2:]:
        db.execute("update turns set response = '<sh>ls</sh>'")
    if phase in steps[3:]:
        db.insert("_dispatch", run="demo")
