"""Every fault of a disk: whichever call fails, the file opens and is sound, the work goes on, and what was told is there.

1. Runs of each kind on a disk that fails at a call: an error, no room, half a write, a read; a power cut that loses what
was not synced, some of it, half of a write; a disk that lies about syncs. An ordinary run tries a few calls of each, a
campaign (ENGINE_CAMPAIGN=N) up to N of each, spread over all. 2. Planted faults are found. 3. A full disk locks nobody out.

spec: @crash_safety
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from campaign import CAMPAIGN
from crash.faulted_runs import KINDS, Case, Kind, calls, check, copied, faulted, snapshot, template
from crash.faults import CUTS, ERRORS, LIES, Disk, Fault, inserted

import engine

FAULTS = (*ERRORS, *CUTS, *LIES)
TRIED = CAMPAIGN or 1
"""How many calls of each kind of work and of fault fail."""


@dataclass
class Prepared:
    """A kind of work with its template, how many calls it makes, and what it comes to on a disk that holds."""

    kind: Kind
    case: Case
    kept: Path
    changes: int
    reads: int
    expected: dict[str, Any]

    def fresh(self) -> Case:
        """The case as it was at the beginning."""
        return copied(self.case, self.kept)


def prepared(folder: Path, kind: Kind) -> Prepared:
    (folder / "case").mkdir()
    case = template(folder / "case", kind)
    for part in ("data", "root"):
        shutil.copytree(case.folder / part, folder / "kept" / part)
    changes, reads = calls(case, kind)
    return Prepared(kind, case, folder / "kept", changes, reads, snapshot(case, kind))


def ats(of: Prepared, name: str, fault: str) -> Iterator[int]:
    """The calls that fail: one of each stretch of the work, another one in each stretch for each fault."""
    count = of.reads if fault == "read" else of.changes
    chance = random.Random(f"{name} {fault}")
    tried = min(TRIED, count)
    for number in range(tried):
        yield chance.randint(1 + number * count // tried, (number + 1) * count // tried)


@pytest.mark.parametrize("name", KINDS)
def test_whichever_call_fails_nothing_that_was_told_is_lost(name: str, tmp_path: Path) -> None:
    of = prepared(tmp_path, KINDS[name])
    came = 0
    for kind in FAULTS:
        for at in ats(of, name, kind):
            fault = Fault(kind, at)
            outcome = faulted(of.fresh(), of.kind, fault)
            came += outcome.has_failed
            check(of.case, of.kind, fault, outcome, of.expected)
    assert came >= len(FAULTS) * TRIED // 2


def test_a_commit_that_is_not_synced_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = prepared(tmp_path, KINDS["plain"])
    work = of.kind.work

    def careless(db: engine.Database, case: Case) -> Any:
        db.execute("pragma synchronous = off")
        return work(db, case)

    kind = Kind(of.kind.answers, careless)
    case = of.fresh()
    disk = Disk(case.database.parent)
    with inserted(disk):
        db = engine.open(case.database, trust=True)
        careless(db, case)
        last = disk.calls
        db.close()
    fault = Fault("cut", last + 1)
    outcome = faulted(of.fresh(), kind, fault)
    assert outcome.was_told
    with pytest.raises(AssertionError, match="what was told as done is gone"):
        check(of.case, kind, fault, outcome, of.expected)


def test_a_command_whose_start_is_not_recorded_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.effects.perform import Performer

    of = prepared(tmp_path, KINDS["shell"])
    start = Performer._mark_started
    disk = Disk(of.fresh().database.parent)
    begun: list[int] = []

    def late(self: Performer, effect_id: int, identity: str | None) -> None:
        begun.append(disk.calls)
        start(self, effect_id, identity)

    monkeypatch.setattr(Performer, "_mark_started", late)
    with inserted(disk), engine.open(of.case.database, trust=True) as db:
        of.kind.work(db, of.case)
    # the power goes when the command has run and its start would have been recorded
    monkeypatch.setattr(Performer, "_mark_started", lambda *_: None)
    fault = Fault("cut", begun[0] + 1)
    outcome = faulted(of.fresh(), of.kind, fault)
    monkeypatch.setattr(Performer, "_mark_started", start)
    with pytest.raises(AssertionError, match="ran1 ran twice"):
        check(of.case, of.kind, fault, outcome, of.expected)


def test_a_process_that_could_not_give_its_lease_back_is_not_locked_out(tmp_path: Path) -> None:
    of = prepared(tmp_path, KINDS["plain"])
    case = of.fresh()
    disk = Disk(case.database.parent, Fault("full", of.changes // 3))
    with inserted(disk), engine.open(case.database, trust=True) as db:
        with pytest.raises(engine.EngineError):
            of.kind.work(db, case)
        assert db.value("select count(*) from leases") == 1
        disk.fault = None  # there is room again
        assert db.resume("demo").status == 200
