"""Checks the seals of runs: whether the record is still what it was when each turn was judged.

spec: @seals
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import apsw

from engine.arguments import expects
from engine.errors import Conflict, NotFound
from engine.handle import Handle

if TYPE_CHECKING:
    from engine.db.database import Row

Progress = Callable[[int, int], None]
"""Called with the number of turns that were checked, and that of all turns."""

_NAMED = 20
"""SQLite's own check of the file names at most this many faults."""
_UNREADABLE = (apsw.Error, UnicodeDecodeError)
"""What reading raises where the bytes of a file were damaged."""


# the last turn of a run may be gone, so the number that it would have is looked at too
_TURNS = """
    select distinct r.id as run_id, r.alias as run, t.turn
    from runs as r
    join (
        select run_id, sequence as turn from turns where phase = 'judged'
        union all
        select id, next_turn - 1 from runs
    ) as t on t.run_id = r.id
    where r.alias = coalesce(:run, r.alias)
    order by r.id, t.turn
"""
_FAULTS = "select turn, fault from _invariant_seals where run_id = ? and turn = ?"


class SealFault(NamedTuple):
    """What is not as it was sealed: of the file as a whole `run` and `turn` are None."""

    run: str | None
    turn: int | None
    fault: str


class SealedRun(NamedTuple):
    """A run, how many of its turns have a seal, and the seal of the last one (SHA-256, hex), None without any."""

    run: str
    turns: int
    digest: str | None


class Verification(NamedTuple):
    """The runs that were checked, and all faults in the order of runs and turns; a sound record has none."""

    runs: list[SealedRun]
    faults: list[SealFault]


class Seals(Handle):
    """The method of `Database` that proves a record."""

    @expects(run="a text or None", on_progress="a function or None")
    def verify(self, run: str | None = None, *, on_progress: Progress | None = None) -> Verification:
        """Compare the record of one run, or of all runs, with its seals, and have SQLite check the file.

        Nothing is changed. Raises `NotFound` (404) for an unknown run, and `Conflict` (409) for a file whose rules are not
        those of this engine: what they say of the record is no proof.
        """
        if self.differs:
            raise Conflict(f"{self.path}: {self.differs}; verify it with the engine that wrote it")
        if run is not None and self.value("select 1 from runs where alias = ?", (run,)) is None:
            raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
        found, turns = list(_faults_of_file(self)), self.rows(_TURNS, {"run": run})
        for number, row in enumerate(turns, 1):
            found += _faults_of_turn(self, row)
            if on_progress is not None:
                on_progress(number, len(turns))
        heads = self.rows("select run, turns, digest from sealed_runs where run = coalesce(?, run)", (run,))
        return Verification([SealedRun(**head) for head in heads], found)


def _faults_of_turn(db: Handle, row: Row) -> Iterator[SealFault]:
    try:
        for turn, fault in db.tuples(_FAULTS, (row["run_id"], row["turn"])):
            yield SealFault(row["run"], turn, fault)
    except _UNREADABLE as error:
        yield SealFault(row["run"], row["turn"], f"it cannot be read: {error}")


def _faults_of_file(db: Handle) -> Iterator[SealFault]:
    try:
        for (message,) in db.tuples(f"pragma integrity_check({_NAMED})"):
            if message != "ok":
                yield SealFault(None, None, message)
        for table, rowid, parent, _ in db.tuples("pragma foreign_key_check"):
            yield SealFault(None, None, f"row {rowid} of {table} names no row of {parent}")
    except _UNREADABLE as error:
        yield SealFault(None, None, f"it cannot be read: {error}")
