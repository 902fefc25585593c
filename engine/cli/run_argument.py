"""The argument RUN: the run of that name, or of a beginning of it, or the latest.

spec: @run_left_out
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engine.terminal.hints import nearest

from .completion import complete_run

if TYPE_CHECKING:
    from engine.api.database import Database

RunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", help="The run; default: the latest.", autocompletion=complete_run)
]


RunFilter = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Only this run; default: all.", autocompletion=complete_run)
]


# A run that was delegated to is named.
_LATEST = "select alias from runs where archived_at is null order by role <> 'main', updated_at desc, id desc limit 1"
# The run of that name, else all whose names begin so.
_NAMED = """
    select alias
    from runs
    where alias = :run
        or (substr(alias, 1, length(:run)) = :run and not exists (select 1 from runs where alias = :run))
    order by updated_at desc, id desc
    limit 6
"""


def run_or_latest(db: Database, run: str | None, fitting: str | None = None) -> str:
    """The run named `run`, or the only one whose name begins so; for None the first that the query `fitting` has, else the
    latest.

    Raises `NotFound` (404) for no such run, and `ValidationError` (400) for a beginning that several names have.
    """
    from engine.errors import NotFound, ValidationError

    if run is None:
        latest = (fitting and db.value(fitting)) or db.value(_LATEST)
        if latest is None:
            raise NotFound("there is no run yet; to start a run: engine run PROMPT")
        return str(latest)
    named = [str(alias) for (alias,) in db.tuples(_NAMED, {"run": run})] if run else []
    if len(named) > 1:
        more = ", …" if len(named) > 5 else ""
        raise ValidationError(
            f"run {run!r}: several runs have names that begin like this: {', '.join(named[:5])}{more}"
        )
    found = named[0] if named else None
    if found is None:
        names = [str(row["alias"]) for row in db.rows("select alias from runs order by updated_at desc limit 1000")]
        hint = nearest(run or "", names, "'engine runs' lists them")
        raise NotFound(f"run {run!r}: there is no such run; {hint}")
    return str(found)


def fork_point(fork: str) -> tuple[str, int | None]:
    """`RUN` or `RUN@N` as (run, turn)."""
    run, mark, turn = fork.rpartition("@")
    if not mark:
        return fork, None
    if not run or not turn.isdecimal():
        raise typer.BadParameter(f"{fork!r} is not RUN or RUN@TURN")
    return run, int(turn)


LATEST_UNFINISHED = """
    select n.run
    from _next_steps as n
    where n.step <> 'end'
    order by n.run_id in (select c.run_id from children as c), n.run_id desc
    limit 1
"""
"""A parent goes before its children, which it drives."""


def latest_unfinished(db: Database) -> str | None:
    """The run that a resume goes on with; None where all have ended."""
    found = db.value(LATEST_UNFINISHED)
    return None if found is None else str(found)


def is_unfinished(db: Database, run: str) -> bool:
    """Whether a run has a next step."""
    return db.value("select step from _next_steps where run = ?", (run,)) not in (None, "end")
