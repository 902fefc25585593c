"""The project's files: looked at before a packet, written and removed when that was accepted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.functions.compact import to_json
from engine.workspace import FileRead, Workspace

if TYPE_CHECKING:
    from engine.database import Row, Store


_DIFFERENCES = """
with found as (select key as path, value as stats from json_each(:listing))
select f.path, 0 as gone
from found as f
left join file_stats as s on s.project_id = :project and s.path = f.path and s.kind <> 'missing'
where s.path is null or json_array(s.size, s.mtime_ns) <> f.stats
union all
select path, 1
from file_stats
where project_id = :project and kind <> 'missing' and path not in (select path from found)
order by gone, path
"""
"""What is new, changed or gone since the last look; `listing` is a JSON object of [size, mtime_ns] by path."""


def scan(db: Store, request: Row) -> None:
    """Look at the whole project of a row of `_scan_requests` and report what differs from the last look.

    The disk is read outside of any transaction; what was found is written in one.
    """
    workspace = Workspace.at(request["root"], db.place)
    project = request["project_id"]
    patterns = db.rows("select pattern, visibility from file_constraints where project_id = ?", (project,))
    members = workspace.members(
        added=[row["pattern"] for row in patterns if row["visibility"] != "ignore"],
        ignored=[row["pattern"] for row in patterns if row["visibility"] == "ignore"],
        limit=int(_setting(db, "scan_max_files")),
    )
    listing = to_json({member.path: (member.size, member.mtime_ns) for member in members})
    limit = int(_setting(db, "file_max_bytes"))
    reads = [
        (row["path"], FileRead("missing") if row["gone"] else workspace.read(row["path"], limit))
        for row in db.rows(_DIFFERENCES, {"listing": listing, "project": project})
    ]
    with db.transaction():
        for path, read in reads:
            _report(db, project, path, read)
        db.insert("sync_files", run_id=request["run_id"], turn_id=request["turn_id"])


def look_at_watched(db: Store, run_id: int) -> None:
    """Read again those files in a run's context that changed on disk."""
    watched = db.rows(
        "select w.project_id, w.path, w.size, w.mtime_ns, p.root from _watched_files as w "
        "join projects as p on p.id = w.project_id where w.run_id = ?",
        (run_id,),
    )
    for row in watched:
        workspace = Workspace.at(row["root"], db.place)
        if workspace.stat(row["path"]) != (row["size"], row["mtime_ns"]):
            limit = int(_setting(db, "file_max_bytes"))
            _report(db, row["project_id"], row["path"], workspace.read(row["path"], limit))


def write(db: Store, effect: Row) -> dict[str, Any]:
    """Write an accepted file: atomically, inside the root, and only over what was there when it was proposed."""
    detail = json.loads(effect["detail"])
    try:
        workspace = _workspace(db, effect, detail["path"])
        digest = workspace.write(detail["path"], effect["text"], before=detail.get("before"))
        size, mtime_ns = workspace.stat(detail["path"]) or (0, 0)
    except EngineError as error:
        return failure(error)
    return {"state": "resolved", "detail": json.dumps({"sha256": digest, "size": size, "mtime_ns": mtime_ns})}


def delete(db: Store, effect: Row) -> dict[str, Any]:
    """Remove an accepted file, if it still is what it was when that was proposed; one that is gone already is fine."""
    detail = json.loads(effect["detail"])
    try:
        _workspace(db, effect, detail["path"]).delete(detail["path"], before=detail.get("before"))
    except EngineError as error:
        return failure(error)
    return {"state": "resolved"}


def may_be_done(db: Store, effect: Row) -> bool:
    """Whether a file is still what it was when its change was proposed, or already what it is to become."""
    detail = json.loads(effect["detail"])
    text = effect["text"] if effect["kind"] == "file_write" else None
    try:
        _workspace(db, effect, detail["path"]).expect(detail["path"], before=detail.get("before"), after=text)
    except EngineError:
        return False
    return True


def _workspace(db: Store, effect: Row, path: str) -> Workspace:
    """The workspace of an effect on the file `path`; `PermissionDenied` (403) where that is one of keys."""
    workspace = Workspace.at(effect["root"], db.place)
    added = db.rows(
        "select k.pattern from file_constraints as k join runs as r on r.project_id = k.project_id "
        "where r.id = ? and k.visibility <> 'ignore'",
        (effect["run_id"],),
    )
    workspace.expect_no_keys(path, [row["pattern"] for row in added])
    return workspace


def failure(error: EngineError) -> dict[str, Any]:
    """The result row of an effect that was refused."""
    outcome = {403: "permission", 404: "not_found", 409: "conflict"}.get(error.status, f"status:{error.status}")
    return {"state": "failed", "outcome": outcome, "message": error.message}


def _report(db: Store, project_id: int, path: str, read: FileRead) -> None:
    db.insert(
        "report_file",
        project_id=project_id,
        path=path,
        kind=read.kind,
        size=read.size,
        mtime_ns=read.mtime_ns,
        sha256=read.sha256,
        text=read.text,
    )


def _setting(db: Store, name: str) -> str:
    return str(db.value("select value from settings where name = ?", (name,)))
