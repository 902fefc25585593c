"""Takes back edits of a run, and puts a run where a past turn was sent: views plan it, doors record it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from engine.driving.lease import Lease
from engine.driving.requests import look, perform
from engine.effects import files
from engine.errors import Conflict, EngineError, NotFound
from engine.functions.compact import to_json
from engine.history.undo_results import FileChange, Undone
from engine.project.listing import is_protected
from engine.project.membership import KeyFiles, left_out
from engine.project.workspace import Workspace

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle

_PLANNED = 100
_MOST_LEFT = 200
"""Ignored files that are listed."""

# the run is given by its number: for a name SQLite would compute these views for all runs
_UNDO_PLAN = """
    select p.plan
    from _undo_plans as p
    where p.run_id = :run_id and p.way = :way and p.turn is :turn
"""
_UNDO_FILES = """
    select
        f.path, f.change, f.hash_now, f.leads_to, a.body as text, f.executable, f.obstacle as stays,
        case when f.obstacle is null then edit_diff(f.path, b.body, a.body) end as diff,
        case
            when f.obstacle is not null and (f.hash_now is null or f.content_now is not null)
                then edit_diff(f.path, z.body, b.body)
        end as since,
        k.child
    from _undo_files as f
    left join contents as b on b.id = f.content_now
    left join contents as a on a.id = f.content_then
    left join contents as z on z.id = f.content_left
    left join _undo_children as k on k.run_id = f.run_id and k.way = f.way and k.turn is f.turn and k.path = f.path
    where f.run_id = :run_id and f.way = :way and f.turn is :turn
    order by f.path
"""
_REWIND_FILES = """
    select
        f.path, f.change, f.hash_now, f.leads_to, a.body as text, f.executable, f.stays,
        case when f.stays is null then edit_diff(f.path, b.body, a.body) end as diff,
        null as since, f.child
    from _rewind_files as f
    left join contents as b on b.id = f.content_now
    left join contents as a on a.id = f.content_then
    where f.run_id = :run_id and f.turn = :turn
    order by f.path
"""
_REWIND_PLAN = """
    select p.plan
    from _rewind_plans as p
    where p.run_id = :run_id and p.turn = :turn
"""
_PROJECT = """
    select p.id as project_id, p.root
    from runs as r
    join projects as p on p.id = r.project_id and p.root is not null
    where r.alias = ?
"""
_EDITS = """
    select
        case
            when k.action = 'rewind' then 'rewind to turn ' || w.turn
            else k.action || coalesce(' ' || k.path, '') || coalesce(', turn ' || t.sequence, '')
                || coalesce(' of ' || b.alias, '')
        end as what
    from _undo_choices as c
    left join undone_edits as u on u.command_id = c.command_id and c.way = 'redo'
    join commands as k on k.id = coalesce(u.undone_id, c.command_id)
    left join turns as t on t.id = k.turn_id
    left join rewinds as w on w.command_id = k.id
    left join children as d on d.run_id = k.run_id and d.run_id <> :run_id
    left join runs as b on b.id = d.run_id
    where c.run_id = :run_id and c.way = :way and c.turn is :turn
    order by k.id desc
"""
_DONE = """
    select r.alias as run, m.status, m.message, o.alias as old
    from command_results as m
    join commands as c on c.id = m.command_id
    join runs as r on r.id = c.run_id
    left join rewinds as w on w.command_id = c.id
    left join runs as o on o.id = w.from_run_id
    where m.command_id = ?
"""
_DONE_FILES = """
    select
        target as path,
        case
            when kind = 'file_delete' then 'removed'
            when json_extract(detail, '$.before') is null then 'brought back'
            else 'changed'
        end as change,
        json_extract(detail, '$.diff') as diff,
        json_extract(detail, '$.executable') as executable,
        case state when 'failed' then coalesce(reason, outcome) when 'cancelled' then 'was not touched' end as stays,
        null as since, null as child
    from proposals
    where command_id = :command and (not :left or state = 'accepted')
    order by target
"""
_OPEN = "select o.command_id from _open_undos as o join runs as r on r.id = o.run_id where r.alias = ? limit 1"


def undo(
    db: Handle, run: str, turn: int | None, *, redo: bool, by: str, dry_run: bool = False, plan: str | None = None
) -> Undone:
    """Take back edits of `run`, or with `redo` an undo; see `Database.undo`."""
    which = {"run_id": _run_id(db, run), "way": "redo" if redo else "undo", "turn": turn}
    if (finished := _finish(db, run, dry_run=dry_run)) is not None:
        return finished
    _look_at(db, run, [row["path"] for row in db.rows(_UNDO_FILES, which)])
    found = _checked_on_disk(db, run, db.rows(_UNDO_FILES, which))
    planned = Undone(
        run,
        _PLANNED,
        [row["what"] for row in db.rows(_EDITS, which)],
        _changes(found),
        plan=db.value(_UNDO_PLAN, which),
    )
    for row in found:
        if row["stays"]:
            refusal = f"run {run!r}: {row['path']} {row['stays']}; nothing was taken back"
            if not dry_run:
                raise Conflict(refusal)
            return replace(planned, status=Conflict.status, message=refusal)
    if dry_run and planned.edits:
        return planned
    # no plan is empty: the door says why there is nothing to plan, and does nothing
    plan = "" if dry_run else plan
    return _carry_out(db, planned, "verb_undo_edits", turn=turn, redo=int(redo), decided_by=by, plan=plan)


def rewind(
    db: Handle, run: str, turn: int, *, with_files: bool, by: str, dry_run: bool = False, plan: str | None = None
) -> Undone:
    """Put `run` where its turn `turn` was sent; see `Database.rewind`."""
    which = {"run_id": _run_id(db, run), "turn": turn}
    if (finished := _finish(db, run, dry_run=dry_run)) is not None:
        return finished
    if which["run_id"] is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    if not db.value("select 1 from past_turns where run_id = :run_id and turn = :turn and seen_at is not null", which):
        raise NotFound(f"run {run!r}: turn {turn} was not sent to a model; 'engine log {run}' shows its turns")
    if with_files:
        look(db, run, ["."])
    found = _checked_on_disk(db, run, db.rows(_REWIND_FILES, which)) if with_files else []
    found += _left_out(db, run, which) if with_files else []
    planned = Undone(
        run, _PLANNED, [f"rewind to turn {turn}"], _changes(found), plan=db.value(_REWIND_PLAN, which) or ""
    )
    if dry_run:
        return planned
    leave = to_json([row["path"] for row in found if row["stays"]])
    done = _carry_out(
        db,
        planned,
        "verb_rewind_run",
        turn=turn,
        files=int(with_files),
        leave=leave,
        decided_by=by,
        plan=plan if with_files else None,
    )
    return replace(done, files=[*done.files, *(each for each in planned.files if each["stays"])])


def _run_id(db: Handle, run: str) -> int | None:
    """The number of a run; None where there is no such run."""
    return cast("int | None", db.value("select id from runs where alias = ?", (run,)))


def _finish(db: Handle, run: str, *, dry_run: bool) -> Undone | None:
    """The end of an undo or a rewind that was interrupted before all of its files were written; None where there is none.

    With `dry_run` it is told what is left of it, and nothing is written; the plan is that of no other undo.
    """
    db.expect_no_transaction()
    command = db.value(_OPEN, (run,))
    if command is None:
        return None
    edits = ["what was interrupted"]
    if dry_run:
        left = db.rows(_DONE_FILES, {"command": command, "left": 1})
        return Undone(run, _PLANNED, edits, _changes(left), plan="")
    with db.driven():
        perform(db, run)
    return _result(db, command, edits)


def _carry_out(db: Handle, planned: Undone, door: str, **columns: Any) -> Undone:
    """Record the decision in one statement, then write the files; raises what the door refuses."""
    request = uuid4().hex
    with db.driven():
        with Lease(db, planned.run) as lease:
            db.insert(door, run=planned.run, request_id=request, lease=lease.token, **columns)
        # it may belong to the run that has the name since
        perform(db, planned.run)
    done = _result(db, db.value("select id from commands where request_id = ?", (request,)), planned.edits)
    children = {each["path"]: each["child"] for each in planned.files}
    return replace(done, files=[{**each, "child": children.get(each["path"])} for each in done.files])


def _result(db: Handle, command: int | None, edits: list[str]) -> Undone:
    done = db.row(_DONE, (command,))
    if done is None:
        raise NotFound("the run was removed while its files were written; the files that were written stay")
    changes = _changes(db.rows(_DONE_FILES, {"command": command, "left": 0}))
    return Undone(done["run"], done["status"], edits, changes, message=done["message"] or "", old=done["old"])


def _changes(rows: list[Row]) -> list[FileChange]:
    names = ("path", "change", "diff", "stays", "since", "child")
    return [
        cast(
            "FileChange",
            {name: row[name] for name in names}
            | {"executable": None if row["executable"] is None else bool(row["executable"])},
        )
        for row in rows
    ]


def _look_at(db: Handle, run: str, paths: list[str]) -> None:
    """Report how these files are on disk by now; raises `Conflict` (409) while the run is driven."""
    project = db.row(_PROJECT, (run,))
    if project is None or not paths:
        return
    with db.driven(), Lease(db, run):
        files.look_at(db, project["project_id"], project["root"], paths)


def _checked_on_disk(db: Handle, run: str, rows: list[Row]) -> list[Row]:
    """The rows, with why a file cannot be written where the disk says so: a folder or an ignored file in its place, keys."""
    project = db.row(_PROJECT, (run,))
    if project is None:
        return rows
    workspace = Workspace.at(project["root"], db.place)
    keys = KeyFiles(workspace.root, files.added(db, project["project_id"]))
    return [row if row["stays"] else {**row, **_fault(workspace, keys, row)} for row in rows]


def _left_out(db: Handle, run: str, which: dict[str, Any]) -> list[Row]:
    """The files that no scan reads, because they are ignored, and that were written since the turn: shell commands ran."""
    since = db.value("select at from _commands_since where run_id = :run_id and turn = :turn", which)
    project = db.row(_PROJECT, (run,))
    if since is None or project is None:
        return []
    workspace = Workspace.at(project["root"], db.place)
    rows = []
    for name in left_out(workspace.root, files.ignored(db, project["project_id"])):
        found = None if is_protected(PurePosixPath(name).parts) else files.stat(workspace, name)
        if found and found.mtime_ns // 1_000_000 > since:
            row = {"path": name, "change": "changed", "diff": None, "stays": "is ignored", "since": None}
            rows.append({**row, "executable": None, "child": None})
    return rows[:_MOST_LEFT]


def _fault(workspace: Workspace, keys: KeyFiles, row: Row) -> dict[str, str | None]:
    try:
        workspace.expect_no_keys(row["path"], keys)
        workspace.expect(row["path"], before=row["hash_now"], after=row["text"], leads_to=row["leads_to"])
    except EngineError as error:
        return {"stays": error.message, "diff": None}
    return {}
