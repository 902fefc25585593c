"""Carries out the verbs that a person asks of a run from outside its turns, together with the files that they write."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from engine.effects import files
from engine.effects.perform import Performer
from engine.errors import LeaseHeld, error_for
from engine.functions.compact import to_json
from engine.functions.paths import path_scheme

from .lease import Lease

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle

PATIENCE_S = 2.0
"""How long a driver that is at work is waited for; it may be at its end, or between two steps."""
_TICK_S = 0.05
_RESULT = "select action, path, destination, state, outcome, status, message from command_results where request_id = ?"
_TEXTS = """
    select p.path, b.body
    from runs as r
    join json_each(:paths) as g
    join _run_paths as p on p.run_id = r.id and p.path = g.value
    join _entry_bodies as b on b.run_id = r.id and b.entry_id = p.entry_id
    where r.alias = :run and p.scheme is not null
"""


def located(db: Handle, run: str, path: str) -> str:
    """`path` as the entries of `run` are named: an absolute one inside its folder becomes relative to that.

    Raises the error 400 for what cannot be the path of an entry.
    """
    row = db.row(
        "select path_locate(:path, p.roots) as path, path_error(path_locate(:path, p.roots)) as error "
        "from runs as r join _run_roots as p on p.run_id = r.id where r.alias = :run",
        {"run": run, "path": path},
    )
    if row is None:
        raise error_for(404, f"run {run!r}: there is no such run; 'engine runs' lists them")
    if row["error"]:
        raise error_for(400, str(row["error"]))
    return str(row["path"])


def look(db: Handle, run: str, paths: Iterable[str]) -> None:
    """Look at the files of the run's folder where one of `paths` is a file; whoever drives the run does that himself."""
    if all(map(path_scheme, paths)):
        return
    with db.driven(), ExitStack() as stack:
        if _claimed(db, run, stack):
            for folder in db.rows("select * from _listed_folders where run = ?", (run,)):
                files.scan(db, folder)


def carry_out(db: Handle, run: str, requests: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Carry out requests, all of them or none, then perform what they do to files; a row for each of them.

    A request is a `verb` with the columns of its view, and paths as `located` gives them. A row has what `command_results`
    says, and `changes`: a list of `path`, `change`, `diff`. Where another process drives the run, that one performs what is
    done to files; a request that it has not come to within two seconds is still accepted, 102. Raises the error of a request
    that fails before anything is done, such as `NotFound` (404); of one whose file cannot be written the row says it.
    """
    asked = [_Request(db, run, each) for each in requests]
    with db.driven():
        with db.transaction():
            for each in asked:
                each.record()
        perform(db, run)
    return [each.result() for each in asked]


class _Request:
    """One request, and the entries of the engine that it names as they were before."""

    def __init__(self, db: Handle, run: str, columns: Mapping[str, Any]) -> None:
        self._db = db
        self._run = run
        self._id = uuid4().hex
        self._verb = columns["verb"]
        self._columns = {name: value for name, value in columns.items() if name != "verb" and value is not None}
        self._before: dict[str, str] = {}

    def record(self) -> None:
        """Record the request, by which it is carried out but for files; raises its error where it fails."""
        self._before = self._texts()
        self._db.insert(f"verb_{self._verb}", run=self._run, request_id=self._id, **self._columns)
        result = self._db.row(_RESULT, (self._id,))
        if result and result["state"] == "failed":
            raise error_for(result["status"], f"run {self._run!r}: {result['message']}")

    def result(self) -> Row:
        """What came of it."""
        return {**(self._db.row(_RESULT, (self._id,)) or {}), "changes": [*self._of_entries(), *self._of_files()]}

    def _of_entries(self) -> list[Row]:
        before, after = self._before, self._texts()
        return [
            {
                "path": path,
                "change": "added" if path not in before else "changed" if path in after else "removed",
                "diff": self._db.value("select edit_diff(?, ?, ?)", (path, before.get(path), after.get(path))),
            }
            for path in {**before, **after}
            if before.get(path) != after.get(path)
        ]

    def _of_files(self) -> list[Row]:
        return self._db.rows("select path, change, diff from _requested_files where request_id = ?", (self._id,))

    def _texts(self) -> dict[str, str]:
        paths = [self._columns[name] for name in ("path", "to") if name in self._columns]
        rows = self._db.rows(_TEXTS, {"run": self._run, "paths": to_json(paths)})
        return {row["path"]: row["body"] or "" for row in rows}


def _claimed(db: Handle, run: str, stack: ExitStack) -> Lease | None:
    """The lease of `run`, until `stack` is closed; None while another process drives the run."""
    lease = Lease(db, run)
    stack.callback(lease.release)
    try:
        lease.claim()
    except LeaseHeld:
        return None
    return lease


def perform(db: Handle, run: str) -> None:
    """Perform what was asked for, or wait a moment for the driver of the run to do it."""
    waiting = "select r.id from runs as r join _requested_effects as f on f.run_id = r.id where r.alias = ? limit 1"
    deadline = time.monotonic() + PATIENCE_S
    with ExitStack() as stack:
        while (run_id := db.value(waiting, (run,))) is not None:
            if lease := _claimed(db, run, stack):
                Performer(db, lease.token, lease.stopped).perform_requested(run_id)
                return
            if time.monotonic() > deadline:
                return
            time.sleep(_TICK_S)
