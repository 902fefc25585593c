"""Runs an evaluation: its trials side by side, each kept when it has ended, so that a kill loses what was under way only.

spec: @evals
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, NotFound

from .suites import Suite
from .trials import Stopped, Trial, carry_out, scratch

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

_OPEN = "select * from eval_trials where eval_id = ? and ended_at is null order by repetition, id"
_LATEST = """
    select eval
    from eval_verdicts
    where verdict = 'open' and (:suite is null or suite = :suite)
    order by eval desc
    limit 1
"""
_UNFINISHED = "select run, loop from open_prompts where run = ? or run glob ? || '-*' or run glob ? || '.judge-*'"


def begin(db: Database, suite: Suite, *, baseline: str | None = None, fail_under: float | None = None) -> int:
    """Store an evaluation with all its trials, none of which has ended; returns its number.

    `baseline` is the number of an earlier one, or "latest". Without `fail_under` all trials have to pass, with a baseline
    none: there a regression fails it. Raises `NotFound` (404) for a baseline that is not there, `ValidationError` (400)
    where there is no case.
    """
    db.install("evals")
    least = fail_under if fail_under is not None else 0.0 if baseline else 1.0
    with db.transaction():
        db.insert(
            "_begin_eval",
            suite=suite.name,
            folder=str(suite.folder),
            baseline=baseline,
            fail_under=least,
            trials=json.dumps([*suite.trials()]),
        )
        return int(db.value("select max(id) from evals"))


def unfinished(db: Database, suite: str | None = None) -> int:
    """The latest evaluation with trials that have not ended. Raises `NotFound` (404) where there is none."""
    found = db.value(_LATEST, {"suite": suite}) if db.has("evals") else None
    if found is None:
        raise NotFound("no evaluation was interrupted; 'engine eval' lists them")
    return int(found)


class Evaluation:
    """The trials of evaluation number `number` that have not ended; `carry_out` makes them, so many at once."""

    def __init__(self, db: Database, number: int, on_trial: Callable[[Row], None] | None = None) -> None:
        self.db = db
        self.number = number
        self._on_trial = on_trial
        self._folder = Path(db.value("select folder from evals where id = ?", (number,)))
        self._stopped = threading.Event()
        self._drivers: set[Any] = set()
        self._lock = threading.Lock()

    def carry_out(self, concurrency: int = 4) -> Row:
        """Carry out what is left; the row of `eval_verdicts`. An interruption stops what is under way and is raised."""
        left = self.db.rows(_OPEN, (self.number,))
        with ThreadPoolExecutor(max(1, concurrency), "eval") as pool:
            doing = {pool.submit(self._one, row) for row in left}
            try:
                while doing:
                    done, doing = wait(doing, return_when=FIRST_COMPLETED)
                    for each in done:
                        self._tell(each)
            except BaseException:
                self.stop()
                for each in doing:
                    each.cancel()
                raise
        verdict = self.db.row("select * from eval_verdicts where eval = ?", (self.number,))
        assert verdict is not None, "it was begun"
        return verdict

    def stop(self) -> None:
        """Stop what is under way; it has not ended then."""
        self._stopped.set()
        with self._lock:
            drivers = [*self._drivers]
        for driver in drivers:
            driver.stop()

    def _tell(self, done: Future[int]) -> None:
        trial = done.result()
        if self._on_trial is not None and (row := self.db.row("select * from eval_results where trial = ?", (trial,))):
            self._on_trial(row)

    def _one(self, row: Row) -> int:
        """Carry out one trial, with a handle of its own."""
        if self._stopped.is_set():
            raise Stopped
        with closing(self.db.shared()) as db, scratch() as folder:
            name = f"eval-{self.number}.{row['id']}"
            self._abort_left(db, name, "the evaluation was interrupted; the trial is made anew")
            tries = int(db.value("select count(*) from runs where alias = ? or alias glob ? || '-*'", (name, name)))
            trial = Trial(
                db,
                json.loads(row["definition"]),
                row["model"] or None,
                f"{name}-{tries + 1}" if tries else name,
                Path(folder),
                self._folder,
                self._watch,
            )
            told = carry_out(trial, self._stopped.is_set)
            self._abort_left(db, name, "the trial has ended")  # nobody decides what it waits for
            if told["run"] is not None:
                with suppress(EngineError):  # the task may have a file of its own
                    db.describe(told["run"], labels=("eval",), archived=True)
            db.insert("_end_trial", trial=row["id"], **{**told, "checks": json.dumps(told["checks"])})
        return int(row["id"])

    def _abort_left(self, db: Database, name: str, reason: str) -> None:
        """End the prompts that are left of a trial and its judges."""
        for left in db.rows(_UNFINISHED, (name, name, name)):
            with suppress(EngineError):
                db.abort(left["run"], reason, loop=left["loop"])
            with suppress(EngineError):
                db.describe(left["run"], labels=("eval",), archived=True)

    def _watch(self, driver: Any) -> None:
        with self._lock:
            self._drivers.add(driver)
        if self._stopped.is_set():
            driver.stop()
