"""Removes a run from the file and makes the file smaller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import apsw

from engine.errors import Conflict, EngineError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .database import Store


def purge(db: Store, run: str, *, tree: bool = False) -> int:
    """Remove `run` and whatever no other run refers to; return the number of bytes that the file shrank by.

    With `tree` all runs below it go, too. Raises `NotFound` (404) for an unknown run, and `Conflict` (409) for a run that is
    driven or that others came from, and inside a transaction. While another process has the file open, it keeps its size.
    """
    if db.in_transaction:
        raise Conflict(f"run {run}: cannot be purged in an open transaction; commit the transaction first")
    before = _size(db)
    sweep(db)  # the rest of a purge that was interrupted
    with db.transaction():
        db.insert("verb_purge_tree" if tree else "verb_purge_run", run=run)
    sweep(db)
    # a vacuum may lay out the rest on more pages than it was on
    return max(before - _size(db), 0)


Progress = Callable[[int, int, str], None]
"""Is told how many runs are done, of how many, and the name of the next one."""


class Purged(NamedTuple):
    """What a purge of many runs did: the `runs` at the top of the trees that went, and the bytes that it freed."""

    runs: list[str]
    freed: int


def purge_before(
    db: Store,
    days: float,
    *,
    archived: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda *_: None,
) -> Purged:
    """Remove the runs in which nothing has happened for so many days, with those below them.

    With `archived` only those that are archived. With `dry_run` they stay. Each tree goes in a transaction of its own, the
    newest first, because a run from which others were forked goes after these; what an interruption leaves is removed by the
    next purge. Raises
    `ValidationError` (400) for days that are no number above 0, `Conflict` (409) inside a transaction.
    """
    if db.in_transaction:
        raise Conflict(f"{db.path}: runs cannot be purged in an open transaction; commit the transaction first")
    if not days > 0:
        raise ValidationError(f"days must be a number above 0, not {days}")
    before = _size(db)
    if dry_run:
        gone: list[str] = []
        with suppress(_Undone), db.transaction():
            gone = _purge_each(db, days, archived, progress)
            raise _Undone
        return Purged(gone, 0)
    gone = _purge_each(db, days, archived, progress)
    sweep(db)
    return Purged(gone, max(before - _size(db), 0))


_OLD = "select run from idle_runs where idle_days >= ? and (not ? or archived_at is not null) order by run_id desc"
_PURGE = (
    "insert into verb_purge_tree (run) select run from idle_runs where run = ? and idle_days >= ? and not has_forks"
)


class _Undone(BaseException):
    """Nothing is to be kept."""


def _purge_each(db: Store, days: float, archived: bool, progress: Progress) -> list[str]:
    names = [str(name) for (name,) in db.tuples(_OLD, (days, archived))]
    gone = []
    for number, name in enumerate(names):
        progress(number, len(names), name)
        # a prompt may have come meanwhile
        with db.transaction():
            db.execute(_PURGE, (name, days))
            if not db.value("select 1 from runs where alias = ?", (name,)):
                gone.append(name)
    return gone


def sweep(db: Store) -> None:
    """Remove the rows that purged runs left behind, and shrink the file."""
    if not db.value("select due from _sweep"):
        return
    with _unchecked(db), db.transaction():
        db.insert("_sweep", due=1)
    # fails where the file is open elsewhere or the disk is full; the run is gone then too, and its pages are used again
    with suppress(EngineError, apsw.SQLError):
        db.execute("vacuum")
        db.execute("pragma wal_checkpoint(truncate)")


_WANTED = "select 1 from settings where name in ('archive_idle_days', 'retention_days') and value is not null"


def apply_retention(db: Store) -> None:
    """Archive and remove the runs that have rested for as long as the settings say; the event `retention.applied` tells.

    What another process keeps busy is left to the next prompt: the prompt that has just ended does not fail by it.
    """
    if db.in_transaction or not db.value(_WANTED):
        return
    with suppress(EngineError):
        with db.transaction():
            db.insert("_apply_retention", at=None)
        sweep(db)


@contextmanager
def _unchecked(db: Store) -> Iterator[None]:
    """Switch foreign keys off: a sweep removes only rows that nothing refers to, and each check would read a whole table.

    No other thread uses the connection meanwhile: what it writes is checked.
    """
    with db.line.turn(), db.held():
        db.execute("pragma foreign_keys = off")
        try:
            yield
        finally:
            db.execute("pragma foreign_keys = on")


def _size(db: Store) -> int:
    return int(db.value("select page_count * page_size from pragma_page_count, pragma_page_size"))
