"""Carries out one attempt: brings the run in the task's file to its end, from wherever it stands.

What a task has come to is in its file. If an earlier attempt was lost, its run is driven on; if that had ended already, its
result is taken.

spec: @fleet_at_most_once
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

import engine
from engine.errors import Conflict, EngineError

from .metering import Meter, MeteredModels

if TYPE_CHECKING:
    from engine.api.database import Database

    from .manifest import Manifest, Row

_LOOPS = "select coalesce(max(loop), 0) from loop_list where run = ?"
_OPEN = "select 1 from open_prompts where run = ?"
_FAILED_CALL = """
    select c.status
    from model_calls as c
    where c.turn_id = (select max(m.turn_id) from model_calls as m) and c.state = 'failed'
    order by c.id desc
    limit 1
"""
_TOTALS = """
    select
        count(*) as turns,
        coalesce(sum(prompt_tokens), 0) + coalesce(sum(completion_tokens), 0) as tokens,
        case when sum(response is not null and cost is null) > 0 then null else coalesce(sum(cost), 0.0) end as cost
    from turns
"""
_LONGEST = 100_000


class Attempt:
    """One attempt at a task: `work` is its row of `work`."""

    def __init__(self, manifest: Manifest, work: Row, settings: Row, *, metered: bool) -> None:
        self.work = work
        self._manifest = manifest
        self._metered = metered
        self.meter = Meter(
            manifest,
            work["token"],
            call_cost=settings["call_cost"],
            max_output=settings["max_output"],
            ceiling=settings["max_cost"] is not None,
        )

    def carry_out(self, driving: AbstractContextManager[Any]) -> None:
        """Bring the task to its end, and tell the manifest how; the run is driven inside of `driving`."""
        try:
            told = self._in_its_file(driving)
        except EngineError as error:
            told = {"status": error.status, "reason": error.message, "outcome": _kind_of(error)}
        except apsw.Error as error:
            told = {"reason": str(error), "outcome": "busy" if isinstance(error, apsw.BusyError) else "crash"}
        except Exception as error:
            told = {"reason": f"{type(error).__name__}: {error}", "outcome": "crash"}
        if self.meter.stopped_for == "lost":
            return
        for key in ("reason", "answer"):
            told[key] = told.get(key) and str(told[key])[:_LONGEST]
        with suppress(Conflict):  # it was given up meanwhile: somebody else tells
            columns = ("outcome", "loop", "status", "reason", "answer", "turns", "tokens", "cost")
            self._manifest.call("_end_attempt", token=self.work["token"], **{key: told.get(key) for key in columns})

    def _in_its_file(self, driving: AbstractContextManager[Any]) -> Row:
        path, root = Path(self.work["file"]), self.work["root"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if root is not None:
            Path(root).mkdir(parents=True, exist_ok=True)
        with engine.open(path, config=True) as db, self._counting(db) as told:
            if self._metered:
                db.app_models = MeteredModels(db, self.meter)  # type: ignore[assignment]
            if self.work["is_cancelled"]:
                told["outcome"] = "cancelled"
                return told
            _KINDS[self.work["kind"]](self, db, driving, told)
            if self.meter.stopped_for is not None:
                told |= {"outcome": self.meter.stopped_for, "loop": None, "answer": None}
                if self.meter.stopped_for == "cancelled":
                    for prompt in db.rows("select run, loop from open_prompts"):
                        with suppress(EngineError):
                            db.abort(prompt["run"], "the task was cancelled", loop=prompt["loop"])
        return told

    @contextmanager
    def _counting(self, db: Database) -> Iterator[Row]:
        """A dict for what is told of the attempt. At the end it gets what the file has that no earlier attempt told."""
        told: Row = {}
        try:
            yield told
        finally:
            (total,) = db.rows(_TOTALS)
            for key in ("turns", "tokens", "cost"):
                told[key] = None if total[key] is None else total[key] - self.work[f"known_{key}"]

    def _prompt(self, db: Database, driving: AbstractContextManager[Any], told: Row) -> None:
        task, run, loop = json.loads(self.work["definition"]), self.work["name"], self.work["next_loop"]
        if db.value(_LOOPS, (run,)) < loop:
            options = {"root": self.work["root"], **task["options"]}
            db.start(task["prompt"], run=run, **options)
        if db.value(_OPEN, (run,)):
            with driving:
                db.resume(run, on_driver=self.meter.watch)
        self._take(db, run, loop, told)

    def _workflow(self, db: Database, driving: AbstractContextManager[Any], told: Row) -> None:
        task, loop = json.loads(self.work["definition"]), self.work["next_loop"]
        run = self.work["name"] if loop == 1 else f"{self.work['name']}-{loop}"
        if not db.value(_LOOPS, (run,)):
            options = {"root": self.work["root"], **task["options"]}
            db.start_workflow(task["workflow"], task.get("vars"), run=run, **options)
        if db.value(_OPEN, (run,)):
            with driving:
                db.resume(run, on_driver=self.meter.watch)
        self._take(db, run, None, told)
        told["loop"] = loop

    def _take(self, db: Database, run: str, loop: int | None, told: Row) -> None:
        result = db.result(run, loop=loop)
        told |= {"loop": result_loop(db, run, loop), "status": result.status, "reason": result.reason}
        told["answer"] = result.answer
        if result.status == 500:
            told["status"] = db.value(_FAILED_CALL) or 500
        if result.accepted is False:
            told |= {"outcome": "not_done", "reason": result.reason or "the result was not accepted"}

    def _eval(self, db: Database, driving: AbstractContextManager[Any], told: Row) -> None:
        from engine.evals import running
        from engine.evals.suites import read_suite

        task, loop = json.loads(self.work["definition"]), self.work["next_loop"]
        db.install("evals")
        number = db.value("select max(id) from evals") or 0
        if number < loop:
            suite = read_suite(Path(task["eval"]))
            if model := task["options"].get("model"):
                suite.models = [model]
            number = running.begin(db, suite)
        evaluation = running.Evaluation(db, number)
        self.meter.watch(evaluation)
        with driving:
            verdict = evaluation.carry_out(1)
        told |= {"loop": loop, "answer": json.dumps(verdict, default=str)}
        told["outcome"] = "done" if verdict["verdict"] == "passed" else "not_done"
        told["reason"] = None if told["outcome"] == "done" else f"the evaluation {verdict['verdict']}"

    def interrupted_by(self, stopping: threading.Event) -> bool:
        """Stop the driving if the worker is to stop; whether it is."""
        if stopping.is_set():
            self.meter.stop("stopped")
        return stopping.is_set()


_KINDS = {"prompt": Attempt._prompt, "workflow": Attempt._workflow, "eval": Attempt._eval}


def result_loop(db: Database, run: str, loop: int | None) -> int:
    """The number of the prompt that a result is of."""
    return int(loop or db.value(_LOOPS, (run,)))


def _kind_of(error: EngineError) -> str:
    """The kind of failure of an error before there is a result."""
    if error.status == 409:
        return "busy"
    return "refused" if 400 <= error.status < 500 else "crash"
