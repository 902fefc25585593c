"""Moves a run into another file: exported, imported there, and purged here only when it is there.

A kill at any moment leaves the run in one of the files or in both, never in none. Who moves it again then finds it in the
other file by its checksum, and only purges it here.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from engine.db.purging import sweep
from engine.errors import Conflict

from .exporting import IMPORTED, lines_of
from .importing import import_run

if TYPE_CHECKING:
    from engine.db.database import Store

_THERE = (
    "select r.alias from events as e join runs as r on r.id = e.run_id where e.kind = ? and e.detail ->> '$.sha256' = ? "
    "order by e.id desc limit 1"
)


class _Possible(Exception):  # noqa: N818 - no error
    """A purge would not be refused."""


def move_run(db: Store, run: str, target: Store, *, name: str | None, root: str | None = None) -> str:
    """Move a run and those below it from one engine file to another; returns its name there. See `RunFiles.move_run`."""
    if target.place == db.place:
        raise Conflict(f"{target.path}: already contains run {run}; choose another file")
    for each in (db, target):
        if each.in_transaction:
            raise Conflict(f"{each.path}: a run cannot be moved inside a transaction; commit first")
    _refuse_kept(db, run)
    with tempfile.TemporaryDirectory(prefix="engine-move-") as folder:
        file = Path(folder) / f"{run}.jsonl"
        with db.transaction(), db.held(), db.clear_errors:
            file.write_bytes(b"".join(lines_of(db.connection, run)))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        there = target.value(_THERE, (IMPORTED, digest))
        moved = str(there) if there is not None else import_run(target, file, name=name, trust=True, root=root)
    _purge_same(db, run, digest, target)
    sweep(db)
    return moved


def _refuse_kept(db: Store, run: str) -> None:
    """Raise what a purge of the run and those below it would raise; nothing is changed."""
    try:
        with db.transaction():
            db.insert("verb_purge_tree", run=run)
            raise _Possible
    except _Possible:
        return


def _purge_same(db: Store, run: str, digest: str, target: Store) -> None:
    """Purge the run, if it is still as it was exported."""
    with db.transaction():
        with db.held(), db.clear_errors:
            now = hashlib.sha256(b"".join(lines_of(db.connection, run))).hexdigest()
        if now != digest:
            raise Conflict(
                f"run {run}: changed while it was moved, so it is now in both files, {db.path} and {target.path}"
            )
        db.insert("verb_purge_tree", run=run)
