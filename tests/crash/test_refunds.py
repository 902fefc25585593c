"""SIGKILL at random moments while approved tools write the app's tables: each refund is there once, with its result.

The tools are plain and async ones, some ask beforehand and some themselves, in several runs at once.

spec: @context_db @tool_context @tool_asks
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from audit import audit
from crash.harness import PATIENCE_S, kill_after

import engine

CAMPAIGN = int(os.environ.get("ENGINE_CAMPAIGN", "0"))
"""How many kills a long campaign by hand makes; without it the few below."""
KILLS = CAMPAIGN or 5
REFUNDS = 200 if CAMPAIGN else 48
RUNS = 10 if CAMPAIGN else 3
LONGEST_S = 0.12 if CAMPAIGN else 0.3
PROGRAM = Path(__file__).with_name("refunding.py")
TABLES = (
    "create table refunds (id integer primary key, order_name text not null, request_id text not null) strict",
    "create table balances (amount integer not null) strict",
    "insert into balances values (0)",
)


def test_each_approved_refund_is_there_once_whatever_is_killed(tmp_path: Path) -> None:
    database = tmp_path / "shop.db"
    orders = [f"A{number}" for number in range(REFUNDS)]
    _write_scripts(tmp_path, orders)
    with closing(engine.open(database)) as db:
        for statement in TABLES:
            db.execute(statement)
    moments = random.Random(27)
    kills = 0
    while kills < KILLS and not _is_done(database):
        kills += kill_after(_started(database, tmp_path), moments.uniform(0, LONGEST_S))
    assert kills >= min(KILLS, 2), "the runs ended before they could be killed"
    process = _started(database, tmp_path)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert output.splitlines() == ["done"]
    audit(database)
    _expect_each_once(database, orders)
    print(f"{kills} kills, {REFUNDS} refunds, {len(_calls(database))} calls")


def _expect_each_once(database: Path, orders: list[str]) -> None:
    with closing(engine.open(database)) as db:
        rows = db.tuples("select order_name, request_id from refunds order by id")
        assert sorted(order for order, _ in rows) == sorted(orders)
        assert db.value("select amount from balances") == -len(orders)
        results = db.tuples("select action, state, message from command_results where action glob 'refund*'")
        assert sorted(message.rpartition(" ")[2] for _, _, message in results) == sorted(orders)
        assert {(action, state) for action, state, _ in results} == {
            ("refund", "resolved"),
            ("refund_later", "resolved"),
        }
        assert db.value("select count(*) from decisions where decision = 'accept'") == len(orders)
    # however often a refund was begun, it was under one key
    assert {tuple(call.split()) for call in _calls(database)} == set(rows)


def _calls(database: Path) -> list[str]:
    return Path(f"{database}.world").read_text("utf-8").splitlines()


def _write_scripts(folder: Path, orders: list[str]) -> None:
    for number in range(RUNS):
        lines = [
            f'<{"refund_later" if place % 2 else "refund"} order="{order}"/><update status="102">{order}</update>'
            for place, order in enumerate(orders[number::RUNS])
        ]
        lines.append('<update status="200">All are refunded.</update>')
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def _started(database: Path, models: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, PROGRAM, database, str(RUNS), models], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _is_done(database: Path) -> bool:
    with closing(engine.open(database, read_only=True)) as db:
        return bool(db.value("select count(*) = ? from run_overview where status = 200", (RUNS,)))
