"""The project's files: looked at before a packet, written and removed when that was accepted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.workspace import FileRead, Workspace

if TYPE_CHECKING:
    from engine.database import Row, Store


def scan(db: Store, request: Row) -> None:
    """Look at the whole project of a row of `scan_requests` and report what differs from the last look.

    The disk is read outside of any transaction; what was found is written in one.
    """
    workspace = Workspace.at(request["root"])
    project = request["project_id"]
    known = {
        row["path"]: (row["kind"], row["size"], row["mtime_ns"])
        for row in db.rows("select path, kind, size, mtime_ns from file_stats where project_id = ?", (project,))
    }
    patterns = db.rows("select pattern, visibility from file_constraints where project_id = ?", (project,))
    members = workspace.members(
        added=[row["pattern"] for row in patterns if row["visibility"] != "ignore"],
        ignored=[row["pattern"] for row in patterns if row["visibility"] == "ignore"],
        limit=int(_setting(db, "scan_max_files")),
    )
    limit = int(_setting(db, "file_max_bytes"))
    reads = [
        (member.path, workspace.read(member.path, limit))
        for member in members
        if known.get(member.path, ())[1:] != (member.size, member.mtime_ns)
    ]
    gone = {path for path, (kind, *_) in known.items() if kind != "missing"} - {member.path for member in members}
    with db.transaction():
        for path, read in reads:
            _report(db, project, path, read)
        for path in sorted(gone):
            _report(db, project, path, FileRead("missing", None, None, 0, 0))
        db.insert("file_syncs", run_id=request["run_id"], turn_id=request["turn_id"])


def look_at_watched(db: Store, run_id: int) -> None:
    """Read again those files in a run's context that changed on disk."""
    watched = db.rows(
        "select w.project_id, w.path, w.size, w.mtime_ns, p.root from watched_files as w "
        "join projects as p on p.id = w.project_id where w.run_id = ?",
        (run_id,),
    )
    for row in watched:
        workspace = Workspace.at(row["root"])
        if workspace.stat(row["path"]) != (row["size"], row["mtime_ns"]):
            limit = int(_setting(db, "file_max_bytes"))
            _report(db, row["project_id"], row["path"], workspace.read(row["path"], limit))


def write(effect: Row) -> dict[str, Any]:
    """Write an accepted file: atomically, inside the root, and only over what was there when it was proposed."""
    detail = json.loads(effect["detail"])
    try:
        workspace = Workspace.at(effect["root"])
        digest = workspace.write(detail["path"], effect["text"], before=detail.get("before"))
        size, mtime_ns = workspace.stat(detail["path"]) or (0, 0)
    except EngineError as error:
        return failure(error)
    return {"state": "resolved", "detail": json.dumps({"sha256": digest, "size": size, "mtime_ns": mtime_ns})}


def delete(effect: Row) -> dict[str, Any]:
    """Remove an accepted file, if it still is what it was when that was proposed; one that is gone already is fine."""
    detail = json.loads(effect["detail"])
    try:
        Workspace.at(effect["root"]).delete(detail["path"], before=detail.get("before"))
    except EngineError as error:
        return failure(error)
    return {"state": "resolved"}


def may_be_done(effect: Row) -> bool:
    """Whether a file is still what it was when its change was proposed, or already what it is to become."""
    detail = json.loads(effect["detail"])
    text = effect["text"] if effect["kind"] == "file_write" else None
    try:
        Workspace.at(effect["root"]).expect(detail["path"], before=detail.get("before"), after=text)
    except EngineError:
        return False
    return True


def failure(error: EngineError) -> dict[str, Any]:
    """The result row of an effect that was refused."""
    outcome = {403: "permission", 404: "not_found", 409: "conflict"}.get(error.status, f"status:{error.status}")
    return {"state": "failed", "outcome": outcome, "message": error.message}


def _report(db: Store, project_id: int, path: str, read: FileRead) -> None:
    db.insert(
        "file_reads",
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
