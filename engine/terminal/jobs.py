"""Stays attached to the commands in the background that a run has kept, until they have ended or a signal ends them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from engine.errors import EngineError

from .hints import db_flag
from .printing import say, shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from engine.api.database import Database
    from engine.db.database import Row

    from .interrupt import Interrupt

_KEPT = """
    select r.alias as run, substr(c.path, 1, length(c.path) - 2) as path, j.ended_at is null as runs, j.outcome, j.exit_code
    from _background_processes as j
    join runs as r on r.id = j.run_id
    join _effect_channels as c on c.effect_id = j.effect_id and c.channel = 1
    where j.effect_id in (select value from json_each(?))
"""
_RUNNING = f"{_KEPT} and j.ended_at is null order by j.effect_id"
_ALL = f"{_KEPT} order by j.effect_id"


def stay_attached(db: Database, given: Path | None, interrupt: Interrupt, *, wait: bool) -> None:
    """Say which commands were kept and wait until they have ended; a signal, also one of before, or not to `wait` ends them.

    `given` is the --db of the command line, which the command that is shown repeats.
    """
    alive = json.dumps(db.kept_jobs.alive())
    kept = db.rows(_RUNNING, (alive,))
    if not kept:
        return
    interrupt.take(db.kept_jobs)
    if wait and not interrupt.struck:
        for row in kept:
            path = shown_path(row["path"])
            say(f"{path} continues in the background; to see its output:", "cyan")
            say(f"  engine runs output{db_flag(given)} {row['run']} {shlex.quote(path)} --follow")
        say(f"Ctrl-C ends {'it' if len(kept) == 1 else f'all {len(kept)}'}", dim=True)
        db.kept_jobs.wait()
    _end(db, alive)


@contextmanager
def ending_with_an_error(db: Database) -> Iterator[None]:
    """Where what is done inside fails, end the commands that were kept, and say so: the error ends this process."""
    try:
        yield
    except BaseException:
        with suppress(EngineError):  # the file may be what fails; the error inside says so
            _end(db, json.dumps(db.kept_jobs.alive()), why=" with the error that follows")
        raise


def _end(db: Database, alive: str, why: str = "") -> None:
    """End the commands that were kept and say how each has ended; `alive` is a JSON array of their effects."""
    db.kept_jobs.close()
    for row in db.rows(_ALL, (alive,)):
        say(f"kept: {shown_path(row['path'])} {_told(row, why)}", dim=True)


def _told(row: Row, why: str) -> str:
    """How a command that was kept has ended."""
    if row["runs"]:
        return "was ended, which could not be recorded"
    if row["exit_code"] is not None:
        return f"has ended, exit code {row['exit_code']}"
    return f"was ended{why}" if row["outcome"] in ("interrupted", "cancelled") else f"has ended: {row['outcome']}"
