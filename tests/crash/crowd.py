"""One of several processes that use a file at once: python crowd.py DATABASE ROOT SEED SECONDS.

It runs, forks, reads, resolves, aborts and purges at random, and prints as JSON how often each went well or was refused.
Any error but a clear refusal ends it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

import engine
from engine.errors import Conflict, NotFound

READS = (
    "select count(*) from run_log",
    "select * from run_overview",
    "select count(*) from context_at",
    "select * from turn_timeline",
    "select run, status from run_state",
    "select * from open_proposals",
)
LEAST = 5
"""Things that each process does, however slow the machine is."""
ANSWERS = (
    '<set path="known://a">{0}</set><update status="102">on</update>',
    '<get path="known://**"/><set path="file_{1}.txt">{0}\n</set><update status="102">wrote</update>',
    '<sh>true</sh><update status="102">ran</update>',
    '<update status="200">Done {0}.</update>',
)


def act(db: engine.Database, source: random.Random, folder: Path, seed: int, number: int) -> str:
    """Do one thing at random; returns its name."""
    runs = [row["run"] for row in db.rows("select run from run_overview")] or ["none"]
    run = source.choice(runs)
    what = source.choice(("run", "run", "prompt", "fork", "read", "read", "resolve", "abort", "resume", "purge"))
    script = folder / f"script_{seed}.jsonl"
    if what == "run":
        script.write_text("".join(json.dumps(text.format(number, seed)) + "\n" for text in ANSWERS), encoding="utf-8")
        yolo = source.random() < 0.7
        db.run("Go", run=f"r{seed}_{number}", model=f"scripted:{script}", root=folder, yolo=yolo)
    elif what == "prompt":
        db.run("And?", run=run, yolo=True, max_turns=3)
    elif what == "fork":
        db.fork(run, f"f{seed}_{number}")
    elif what == "read":
        db.sql(source.choice(READS))
    elif what == "resolve":
        db.resolve(run, accept=source.random() < 0.5)
    elif what == "abort":
        db.abort(run)
    elif what == "resume":
        db.resume(run)
    else:
        db.purge(run)
    return what


def main(path: str, folder: str, seed: str, seconds: str) -> None:
    source, done = random.Random(int(seed)), Counter[str]()
    until = time.monotonic() + float(seconds)
    number = 0
    with engine.open(path) as db:
        while number < LEAST or time.monotonic() < until:
            number += 1
            try:
                done[act(db, source, Path(folder), int(seed), number)] += 1
            except (Conflict, NotFound) as error:
                done[str(error.status)] += 1
    print(json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
