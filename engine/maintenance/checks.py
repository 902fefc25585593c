"""Checks databases, and brings them up to date.

spec: @several_files
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import apsw

import engine
from engine.api.trust import trusted
from engine.errors import EngineError
from engine.schema.update import refusal


class Report(NamedTuple):
    """How a database is: `fault` says what is wrong with it; `runs` and `megabytes` are 0 if it cannot be read."""

    file: str
    fault: str | None
    note: str
    runs: int = 0
    megabytes: float = 0.0


_OLDER = "has rules of another version; to update it: engine migrate"
_INVARIANTS = "select name from sqlite_schema where type = 'view' and name glob '*invariant_*' order by name"


def check(path: Path) -> Report:
    """Read all of a database: its pages, foreign keys and invariants, and who may act in it. Nothing is changed."""
    try:
        with engine.open(path, read_only=True) as db:
            runs, size = int(db.value("select count(*) from runs")), round(path.stat().st_size / 1e6, 1)
            return Report(str(path), _fault(db), _OLDER if db.differs else "up to date", runs, size)
    except (EngineError, apsw.Error) as error:
        return Report(str(path), _told(path, error), "")


def _fault(db: engine.Database) -> str | None:
    if found := damage(db):
        return found
    if db.unknown and trusted(db.path) != db.unknown_digest:
        return refusal(db.path, db.unknown).removeprefix(f"{db.path}: ")
    return None


def damage(db: engine.Database) -> str | None:
    """What is wrong with the pages, foreign keys or invariants of an open file, as the end of a sentence; None: nothing."""
    found = str(db.value("pragma quick_check"))
    if found != "ok":
        return f"is damaged ({found}); restore a copy"
    if orphan := db.row('select "table", parent from pragma_foreign_key_check limit 1'):
        return f"has rows of {orphan['table']} without their {orphan['parent']}; restore a copy"
    for (view,) in db.tuples(_INVARIANTS):
        if db.value(f'select 1 from "{view}" limit 1'):  # noqa: S608 - a name of ours
            return f"breaks the rule {view}; restore a copy"
    return None


def migrate(path: Path) -> Report:
    """Open a database for writing, which brings its tables and rules to this build.

    One that is not trusted stays as it is.
    """
    try:
        with engine.open(path, read_only=True) as db:
            before = db.differs
        with engine.open(path, trust=trusted(path) or False) as db:
            runs, size = int(db.value("select count(*) from runs")), round(path.stat().st_size / 1e6, 1)
        return Report(str(path), None, "brought up to date" if before else "up to date", runs, size)
    except (EngineError, apsw.Error) as error:
        return Report(str(path), _told(path, error), "")


def _told(path: Path, error: Exception) -> str:
    return (error.message if isinstance(error, EngineError) else str(error)).removeprefix(f"{path}: ")
