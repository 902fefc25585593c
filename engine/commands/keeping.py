"""Stays attached to the commands in the background that a run has kept, until they have ended or a signal ends them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from .printing import say, shown_path
from .shared import db_flag

if TYPE_CHECKING:
    from pathlib import Path

    from engine.api import Database
    from engine.db.database import Row

    from .interrupt import Interrupt

_KEPT = """
    select r.alias as run, substr(c.path, 1, length(c.path) - 2) as path, j.ended_at is null as runs, j.outcome, j.exit_code
    from jobs as j
    join runs as r on r.id = j.run_id
    join _effect_channels as c on c.effect_id = j.effect_id and c.channel = 1
    where j.effect_id in (select value from json_each(?))
    order by j.effect_id
"""


def stay_attached(db: Database, given: Path | None, interrupt: Interrupt, *, wait: bool) -> None:
    """Say which commands were kept and wait until they have ended; a signal, also one of before, or not to `wait` ends them.

    `given` is the --db of the command line, which the command that is shown repeats.
    """
    alive = json.dumps(db.kept_jobs.alive())
    kept = [row for row in db.rows(_KEPT, (alive,)) if row["runs"]]
    if not kept:
        return
    interrupt.take(db.kept_jobs)
    if wait and not interrupt.struck:
        for row in kept:
            path = shown_path(row["path"])
            say(f"kept: {path} goes on; this shows what it prints:", "cyan")
            say(f"  engine stream{db_flag(given)} {row['run']} {shlex.quote(path)} --follow")
        say(f"Ctrl-C ends {'it' if len(kept) == 1 else f'all {len(kept)}'}", dim=True)
        db.kept_jobs.wait()
    db.kept_jobs.close()
    for row in db.rows(_KEPT, (alive,)):
        say(f"kept: {shown_path(row['path'])} {_end(row)}", dim=True)


def _end(row: Row) -> str:
    """How a command that was kept has ended."""
    if row["runs"]:
        return "was ended, which could not be recorded"
    if row["exit_code"] is not None:
        return f"has ended, exit code {row['exit_code']}"
    return "was ended" if row["outcome"] in ("interrupted", "cancelled") else f"has ended: {row['outcome']}"
