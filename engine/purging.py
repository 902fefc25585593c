"""Removes a whole run from the file, and makes the file smaller."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import apsw

from .errors import Conflict, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .database import Store


def purge(db: Store, run: str) -> int:
    """Remove `run` with all that nobody else refers to; returns the bytes by which the file has become smaller.

    Raises `NotFound` (404) for a run that is not there, and `Conflict` (409) for one that is being driven or that other
    runs came from, and inside a transaction. The file keeps its size while another process has it open.
    """
    if db.connection.in_transaction:
        raise Conflict(f"run {run}: cannot be purged as part of a transaction; commit it first")
    before = _size(db)
    sweep(db)  # what one that was interrupted has left
    with db.transaction():
        db.insert("purge_run", run=run)
    sweep(db)
    return before - _size(db)


def sweep(db: Store) -> None:
    """Remove what purged runs have left, and give the room back to the file system."""
    if not db.value("select due from sweep"):
        return
    with _unchecked(db), db.transaction():
        db.insert("sweep", due=1)
    # the file is open elsewhere, or the disk is full: the run is gone, and its pages are used for what comes
    with suppress(EngineError, apsw.SQLError):
        db.execute("vacuum")
        db.execute("pragma wal_checkpoint(truncate)")


@contextmanager
def _unchecked(db: Store) -> Iterator[None]:
    """Without checks of foreign keys: a sweep takes only what nobody refers to, and each check would read a whole table."""
    db.execute("pragma foreign_keys = off")
    try:
        yield
    finally:
        db.execute("pragma foreign_keys = on")


def _size(db: Store) -> int:
    return int(db.value("select page_count * page_size from pragma_page_count, pragma_page_size"))
