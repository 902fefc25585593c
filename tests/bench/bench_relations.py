"""What relations and plans cost: a graph of 10,000 nodes, and the turns of runs with a plan and without one."""

from __future__ import annotations

import json
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path

import apsw

import engine
from tests.counters import Counters

from .table import Line

NODES = 10_000
STEPS = 20
TURNS = 20


def bench_relations(nodes: int = NODES, turns: int = TURNS) -> list[Line]:
    """Milliseconds of the views and the cycle check over so many nodes, and VM steps of a turn."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        closing(engine.open(Path(folder) / "bench.db")) as db,
    ):
        return [*_graph(db, nodes), *_turns(Path(folder), turns)]


def _graph(db: engine.Database, count: int) -> list[Line]:
    chance = random.Random(1)
    nodes = [
        {"id": f"n{i}", "parents": sorted({f"n{chance.randrange(max(0, i - 50), i)}" for _ in range(3)}) if i else []}
        for i in range(count)
    ]
    chance.shuffle(nodes)
    note = f"{count:,} nodes with up to 3 parents each"
    last = f"n{count - 1}"
    return [
        Line(
            "import of nodes",
            _ms(db, "insert into verb_import_nodes (body) values (?)", json.dumps(nodes)),
            "ms",
            note=note,
        ),
        Line("ancestors of a node", _ms(db, "select * from node_ancestors where node = ?", last), "ms", note=note),
        Line(
            "descendants of the root", _ms(db, "select * from node_descendants where node = ?", "n0"), "ms", note=note
        ),
        Line("all roots", _ms(db, "select * from root_nodes"), "ms", note=note),
        Line("all leaves", _ms(db, "select * from leaf_nodes"), "ms", note=note),
        Line(
            "an edge of a node with nothing below it",
            _ms(db, "insert into verb_set_node (node, parents) values ('new', ?)", json.dumps([last])),
            "ms",
            note="no walk",
        ),
        Line(
            "an edge that is checked over the whole graph",
            _ms(db, "insert into verb_set_node (node, parents) values ('n1', ?)", '["n0"]')
            + _ms(db, f"insert into verb_set_node (node, parents) select '{last}', ?", json.dumps([f"n{count - 2}"])),
            "ms",
            note="two edges",
        ),
    ]


def _ms(db: engine.Database, statement: str, *bindings: str) -> float:
    began = time.process_time()
    db.execute(statement, bindings)
    return 1000 * (time.process_time() - began)


def _turns(folder: Path, turns: int) -> list[Line]:
    plan = "\n".join(f"- [ ] step {i} of the plan" for i in range(STEPS))
    return [
        Line("a turn without a plan", _steps(folder, "none", "", turns), "VM steps"),
        Line(
            "a turn with an open plan",
            _steps(folder, "open", plan, turns),
            "VM steps",
            note=f"{STEPS} steps, untouched",
        ),
    ]


def _steps(folder: Path, name: str, plan: str, more: int) -> float:
    """VM steps of one turn more, of a run that writes a fact in each: that of `more` turns behind the first ones."""
    counts = []
    for turns in (10, 10 + more):
        first = f'<set path="plan://task">{plan}</set>' if plan else ""
        answers = [
            (first if not turn else "")
            + f'<set path="known://k{turn}">fact {turn}</set><update status="102">on</update>'
            for turn in range(turns - 1)
        ]
        script = folder / f"{name}{turns}.jsonl"
        script.write_text("".join(json.dumps(answer) + "\n" for answer in [*answers, "Done."]), encoding="utf-8")
        with closing(engine.open(folder / f"{name}{turns}.db")) as db:
            heard, counters = list[int](), Counters()
            db.connection.trace_v2(
                apsw.SQLITE_TRACE_PROFILE,
                lambda event, heard=heard, counters=counters: heard.append(counters.of(event)),
            )
            db.run("go", model=f"scripted:{script}")
            db.connection.trace_v2(0, None)
        counts.append(sum(heard))
    return (counts[1] - counts[0]) / more
