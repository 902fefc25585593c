"""Runs of each kind on a disk that fails, and what has to be true of them afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from audit import audit
from crash.faults import LIES, Disk, Fault, inserted
from crash.harness import _QUESTIONS, _lasting, files
from driving import DONE, GO_ON, script

import engine
from engine.models.replay import without_times

_ENDS = """
    select run, status, (select count(*) from turn_timeline as t where t.run = l.run) as turns
    from loop_list as l
    order by run
"""
RUN = "demo"
EDIT = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>'
WORKFLOW = {
    "name": "two",
    "description": "two steps",
    "steps": [{"id": "one", "instruction": "Do it"}, {"id": "two", "instruction": "Do it", "needs": ["one"]}],
}
Work = Callable[[engine.Database, "Case"], Any]


@dataclass(frozen=True)
class Case:
    """A copy of a template: the folder of the database, the one of the run, and the model."""

    folder: Path
    model: str

    @property
    def database(self) -> Path:
        return self.folder / "data" / "t.db"

    @property
    def root(self) -> Path:
        return self.folder / "root"


def _run(db: engine.Database, case: Case, **options: Any) -> Any:
    if db.value("select 1 from loops as l join runs as r on r.id = l.run_id where r.alias = ?", (RUN,)):
        return db.resume(RUN)
    return db.run("Go", run=RUN, model=case.model, root=case.root, yolo=True, sandbox="off", **options)


def _workflow(db: engine.Database, case: Case) -> Any:
    if db.value("select 1 from runs where alias = ?", (RUN,)):
        return db.resume(RUN)
    place = case.folder / "two.json"
    place.write_text(json.dumps(WORKFLOW), encoding="utf-8")
    return db.run_workflow(place, run=RUN, model=case.model, root=case.root, yolo=True)


def _purge(db: engine.Database, case: Case) -> None:
    with suppress(engine.NotFound):
        db.purge("old")


def _undo(db: engine.Database, case: Case) -> None:
    if db.value("select 1 from commands where action = 'undo' and state = 'resolved'"):
        return
    db.undo("old")


def _import(db: engine.Database, case: Case) -> None:
    file = case.folder / "old.jsonl"
    db.export_run("old", file)
    if not db.value("select 1 from runs where alias = 'copy'"):
        db.import_run(file, name="copy", trust=True)


@dataclass(frozen=True)
class Kind:
    """A kind of work: the answers of its model, and what is done; `once` names files in which commands leave a line."""

    answers: tuple[str, ...]
    work: Work = _run
    once: tuple[str, ...] = ()
    run: str = RUN
    told: tuple[str, ...] = ("entries", "log", "turns", "loops", "packets", "context")
    """What two works of this kind have in common: times differ in packets, and children end in any order."""


KINDS = {
    "plain": Kind((f'<set path="known://a">one</set>{GO_ON}', f'<set path="known://a">two</set>{GO_ON}', DONE)),
    "files": Kind(
        (
            f'<get path="notes.md"/>{GO_ON}',
            f'{EDIT}<set path="new.md">new\n</set>{GO_ON}',
            f'<mv path="settings.ini" to="conf/settings.ini"/><rm path="src/util.py"/>{GO_ON}',
            DONE,
        )
    ),
    "shell": Kind(
        (f"<sh>echo x >> ran1</sh>{GO_ON}", f"<sh>echo x >> ran2</sh>{GO_ON}", DONE),
        once=("ran1", "ran2"),
        told=("entries", "log", "loops"),
    ),
    "children": Kind(
        (f"<subtask>a</subtask><subtask>b</subtask>{GO_ON}", DONE, DONE, DONE),
        lambda db, case: _run(db, case, max_depth=1),
        told=("ends",),
    ),
    "workflow": Kind((DONE, DONE), _workflow, told=("ends",)),
    "undo": Kind((), _undo, run="old"),
    "purge": Kind((), _purge, run="old"),
    "import": Kind((), _import, run="copy"),
}


def template(folder: Path, kind: Kind) -> Case:
    """A folder with a file in which a run `old` has edited a file, closed."""
    case = Case(folder, script(folder, *kind.answers, *[DONE] * 4))
    (folder / "data").mkdir()
    (case.root / "src").mkdir(parents=True)
    for path, text in {
        "notes.md": "The port is 8080.\n",
        "settings.ini": "port = 8080\n",
        "src/util.py": "A = 1\n",
    }.items():
        (case.root / path).write_text(text, encoding="utf-8")
    answers = (
        f'<get path="*"/>{GO_ON}',
        f'<set path="old.md">old\n</set><set path="known://old">kept</set>{GO_ON}',
        DONE,
    )
    with engine.open(case.database, trust=True) as db:
        db.run("Before", run="old", model=script(folder, *answers), root=case.root, yolo=True)
    return case


def copied(case: Case, folder: Path) -> Case:
    """The case in another folder, at the same place: paths are in the file."""
    shutil.rmtree(case.root)
    shutil.rmtree(case.database.parent)
    shutil.copytree(folder / "data", case.database.parent)
    shutil.copytree(folder / "root", case.root)
    return case


@dataclass
class Outcome:
    """How a faulted work went: whether the fault came, what it raised, and what was told as done before."""

    has_failed: bool
    error: BaseException | None
    was_told: bool


def faulted(case: Case, kind: Kind, fault: Fault) -> Outcome:
    """Do the work on a disk with a fault; then the disk is laid out as the fault left it."""
    disk = Disk(case.database.parent, fault)
    error: BaseException | None = None
    was_told = False
    with inserted(disk):
        db = None
        try:
            db = engine.open(case.database, trust=True)
            kind.work(db, case)
            was_told = True
        except engine.EngineError as raised:
            error = raised
        finally:
            if db is not None:
                try:
                    db.close()
                except engine.EngineError as raised:
                    error = error or raised
    if disk.is_dead:
        disk.after_power_cut()
        _reboot(case)
    return Outcome(disk.has_failed, error, was_told)


def _reboot(case: Case) -> None:
    """What this process was before the power went is dead."""
    with closing(apsw.Connection(str(case.database))) as connection:
        connection.execute("update leases set holder = json_set(holder, '$.boot_id', 'before')")


def calls(case: Case, kind: Kind) -> tuple[int, int]:
    """How many changes and how many reads the work makes on a disk that holds."""
    disk = Disk(case.database.parent)
    with inserted(disk), engine.open(case.database, trust=True) as db:
        kind.work(db, case)
    return disk.calls, disk.reads


def snapshot(case: Case, kind: Kind) -> dict[str, Any]:
    """What two works of the same kind have in common."""
    questions = {**_QUESTIONS, "ends": _ENDS}
    with engine.open(case.database, trust=True) as db:
        found = {name: [_lasting(row) for row in db.rows(questions[name])] for name in kind.told}
    return {**json.loads(without_times(json.dumps(found, ensure_ascii=False))), "files": files(case.root)}


def check(case: Case, kind: Kind, fault: Fault, outcome: Outcome, expected: dict[str, Any]) -> None:
    """The file opens, is sound, has what was told as done, the work goes on to its end, and nothing was done twice."""
    where = f"{fault}"
    audit(case.database)
    with engine.open(case.database, trust=True) as db:
        if outcome.was_told and fault.kind not in LIES and kind.work is not _purge:
            told = db.value("select count(*) from runs where alias = ?", (kind.run,))
            assert told, f"{where}: what was told as done is gone"
            if kind.answers:
                assert db.value("select status from loop_list where run = ?", (RUN,)) == 200, f"{where}: lost its end"
    for _ in range(3):
        with engine.open(case.database, trust=True) as db:
            kind.work(db, case)
            done = not kind.answers or db.value("select status from loop_list where run = ?", (RUN,)) == 200
        if done:
            break
    audit(case.database)
    found = snapshot(case, kind)
    for name in kind.once if fault.kind not in LIES else ():
        assert found["files"].get(name, "") in ("", "x\n"), f"{where}: {name} ran twice"
    was_interrupted = "interrupted" in json.dumps(found)
    if fault.kind in LIES or was_interrupted:
        return
    for name in expected:
        assert found[name] == expected[name], f"{where}: {name}"
