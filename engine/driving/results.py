"""How prompts ended, the runs of the file, and the proposals that wait: rows of the people's views as objects."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from engine.contract import Proposal, Result, Run
from engine.errors import NotFound, ValidationError
from engine.events import VERSION
from engine.stream_events import StartEvent

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle


_STARTED = """
    select (select coalesce(max(id), 0) from events) as id, l.loop, l.model
    from loop_list as l
    where l.run = :run
        and l.loop = coalesce(
            :loop, (select min(loop) from open_prompts where run = :run), (select max(loop) from loop_list where run = :run)
        )
"""


def start_event(db: Handle, run: str, loop: int | None) -> StartEvent:
    """Tells that the prompt number `loop` of `run` is driven; without a number the one that is open, or the latest."""
    (told,) = db.rows(_STARTED, {"run": run, "loop": loop})
    return StartEvent(run=run, version=VERSION, **told)


def result(db: Handle, run: str, loop: int | None = None, output: Any = None) -> Result[Any]:
    """The result of the loop with the sequence `loop`, by default the latest; raises `NotFound` (404) for an unknown run.

    `output` is the form of its answer, as `Database.run` takes it.
    """
    row = db.row(
        "select * from loop_results where run = ? and (? is null or loop = ?) order by loop desc limit 1",
        (run, loop, loop),
    )
    if row is None:
        count = run_row(db, run).loops
        which = "yet; 'engine run --run NAME PROMPT' gives it one" if loop is None else f"{loop}; it had {count}"
        raise NotFound(f"run {run!r}: has no prompt {which}")
    usage = {key: row[key] for key in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")}
    accepted = None if row["accepted"] is None else bool(row["accepted"])
    return Result(
        run,
        row["status"],
        row["answer"] or "",
        row["turns"],
        usage,
        row["cost"],
        row["reason"],
        accepted,
        row["tree_cost"],
        row["output"],
        partial(_object_of, output),
    )


def _object_of(output: Any, text: str) -> Any:
    from engine.tools.answers import object_of

    return object_of(output, text)


def run_rows(db: Handle, limit: int | None = None) -> list[Run]:
    """The runs of the file, the newest first; at most `limit` of them."""
    if limit is not None and limit < 0:
        raise ValidationError(f"limit must be 0 or more, or None for all, not {limit}")
    query = "select o.* from runs as r join run_overview as o on o.run = r.alias order by r.id desc limit ?"
    return [_run(row) for row in db.rows(query, (-1 if limit is None else limit,))]


def run_row(db: Handle, run: str) -> Run:
    """The run with this name; raises `NotFound` (404) for an unknown one."""
    row = db.row("select * from run_overview where run = ?", (run,))
    if row is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    return _run(row)


def _run(row: Row) -> Run:
    return Run(**{**row, "labels": tuple(json.loads(row["labels"]))})


def proposals(db: Handle, run: str | None = None) -> list[Proposal]:
    """The open proposals of `run` and of those below it, or of all runs, the oldest first."""
    if run is not None:
        run_row(db, run)
    query = (
        "select * from open_proposals where ? is null or run in (select run from tree_runs where top = ?) "
        "order by proposal_id"
    )
    return [cast("Proposal", row) for row in db.rows(query, (run, run))]
