"""What tests drive runs with: scripts for the scripted model, and a clock that they set."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from audit import audit
from sqltest import STEPS

import engine
from engine.trust import known_files

_numbers = count(1)

GO_ON = '<update status="102">on</update>'
DONE = '<update status="200">Done.</update>'
"""How an answer says that the run goes on, or that it is done."""

START_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC, where test clocks start."""


class Clock:
    """Tells the time that a test has set, in milliseconds; `step` is added at each look."""

    def __init__(self, step: int = 0) -> None:
        self.now = START_MS
        self.step = step

    def __call__(self) -> int:
        self.now += self.step
        return self.now


def script(folder: Path, *answers: str | dict[str, Any]) -> str:
    """The name of a scripted model that gives `answers` in their order; its file lies in `folder`."""
    path = folder / f"script{next(_numbers)}.jsonl"
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return f"scripted:{path}"


def make_known(path: Path) -> Path:
    """Let a file that another build made be one of the user who tests; returns its path."""
    mark = known_files.new_mark()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("insert or replace into engine_meta (key, value) values ('mark', ?)", (mark,))
    known_files.note_new(path, mark)
    return path


@contextmanager
def opened(folder: Path, **options: Any) -> Iterator[engine.Database]:
    """A fresh database in `folder`, closed and audited at the end; for tests that ask where it lies."""
    path = folder / f"t{next(_numbers)}.db"
    database = engine.open(path, **options)
    try:
        yield database
    finally:
        database.close()
    audit(path)


def begin(db: engine.Database, run: str, prompt: str = "Do it", **attributes: Any) -> None:
    """Give `prompt` to `run` without driving it."""
    db.insert(
        "verb_set",
        run=run,
        path=f"run://{run}",
        body=prompt,
        attributes=json.dumps({"model": "scripted:none", **attributes}),
    )


def turn(db: engine.Database, run: str, response: str, chars: int = 100) -> int:
    """One whole turn of `run` by SQL alone, its packet a mere length; returns the turn's id."""
    for door in STEPS.values():
        db.execute(door, {"run": run, "chars": chars, "response": response})
    return int(db.value("select max(t.id) from turns as t join runs as r on r.id = t.run_id where r.alias = ?", (run,)))


def heed_signals() -> None:
    """For a child process: who runs tests in the background or under nohup has signals ignored, and that is inherited."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
