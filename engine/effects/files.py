"""The project's files: read before a packet, and written or removed once a proposal of that is accepted.

spec: @file_writes
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, PermissionDenied
from engine.functions.compact import to_json
from engine.project.listing import Member
from engine.project.membership import KeyFiles
from engine.project.workspace import FileRead, Workspace

if TYPE_CHECKING:
    from engine.db.database import Row, Store


_LOOKS = 5
"""How often a project is looked at whose files are written meanwhile; the last look is taken as it is."""


def scan(db: Store, request: Row) -> None:
    """List the whole project of a row of `_scan_requests`, read what `_unread_files` names, and report it.

    The disk is read outside of any transaction; what was read is reported in one. Where another run has written a file of
    the project meanwhile, it is read anew: an older look would undo what is known of that file.
    """
    for attempt in reversed(range(_LOOKS)):
        if _look_at_all(db, request, is_last=attempt == 0):
            return


def _look_at_all(db: Store, request: Row, *, is_last: bool) -> bool:
    """One attempt of `scan`; returns whether it was not overtaken, or is the last."""
    clock = _clock(db)
    workspace = Workspace.at(request["root"], db.place)
    project = request["project_id"]
    refused: dict[str, int] = {}
    members = workspace.members(
        added=[*_patterns(db, project, ignored=False), *_own_patterns(db, workspace.root)],
        ignored=_patterns(db, project, ignored=True),
        limit=int(_setting(db, "scan_max_files")),
        untracked=_setting(db, "untracked_files") == "1",
        refused=refused,
    )
    listing = to_json(
        {name: (0, mtime) for name, mtime in refused.items()} | {each.path: each.stamp for each in members}
    )
    with db.transaction():
        if not is_last and _is_written_since(db, project, clock):
            return False
        db.insert("_report_listing", project_id=project, listing=listing)
        clock = _clock(db)
    reads = _read_changed(db, project, workspace)
    with db.transaction():
        if not is_last and _is_written_since(db, project, clock):
            return False
        for path, read in reads:
            _report(db, project, path, read)
        db.insert("_sync_files", run_id=request["run_id"], turn_id=request["turn_id"])
    return True


def _clock(db: Store) -> int:
    return int(db.value("select coalesce(max(id), 0) from events"))


def _is_written_since(db: Store, project: int, clock: int) -> bool:
    written = "select 1 from events as v join entries as e on e.id = v.entry_id where v.id > ? and e.scope = ? limit 1"
    return db.value(written, (clock, f"project:{project}")) is not None


def look_at_watched(db: Store, run_id: int) -> bool:
    """Report how the files in a run's context are on disk, and read those that have changed; True where one is a picture."""
    watched = db.row("select project_id, root, paths, has_pictures from _watched_files where run_id = ?", (run_id,))
    if watched is None:
        return False
    look_at(db, watched["project_id"], watched["root"], json.loads(watched["paths"]))
    return bool(watched["has_pictures"])


def bring_pictures(db: Store, turn_id: int) -> None:
    """Keep the bytes of the pictures that a turn's packet is to carry, and list what it carries."""
    limit = int(_setting(db, "picture_max_bytes"))
    for row in db.rows("select * from _unread_pictures where turn_id = ?", (turn_id,)):
        added = _patterns(db, row["project_id"], ignored=False)
        with suppress(PermissionDenied):
            body = Workspace.at(row["root"], db.place).picture(row["path"], row["sha256"], limit, added=added)
            if body is not None:
                db.execute(
                    # two files may be the same picture
                    "insert into pictures (sha256, format, body) select :sha256, :format, :body "
                    "where not exists (select 1 from pictures where sha256 = :sha256)",
                    {"sha256": row["sha256"], "format": row["format"], "body": body},
                )
    db.insert("_choose_pictures", turn_id=turn_id)


def look_at(db: Store, project: int, root: str, paths: Iterable[str]) -> None:
    """Report how some files of a project are on disk, and read those that have changed."""
    workspace = Workspace.at(root, db.place)
    found = {path: stat(workspace, path) for path in paths}
    listing = to_json({path: member.stamp if member else None for path, member in found.items()})
    db.insert("_report_listing", project_id=project, listing=listing, is_partial=1)
    for path, read in _read_changed(db, project, workspace):
        _report(db, project, path, read)


def added(db: Store, project: int) -> list[str]:
    """The patterns of files that a person adds to a project."""
    return _patterns(db, project, ignored=False)


def ignored(db: Store, project: int) -> list[str]:
    """The patterns of files that a person takes out of a project."""
    return _patterns(db, project, ignored=True)


def look_at_skills(db: Store, project: int, root: Path) -> None:
    """Read the folders of skills of a project, as the next scan would, without its other files."""
    workspace = Workspace.at(str(root), db.place)
    folders = [f"{name}/" for name in _names(db, "skill_folders")]
    listed = db.rows("select path from file_stats where project_id = ? and kind <> 'missing'", (project,))
    members = workspace.members(
        added=_own_patterns(db, workspace.root),
        ignored=_patterns(db, project, ignored=True),
        limit=int(_setting(db, "scan_max_files")),
    )
    known = dict.fromkeys(row["path"] for row in listed if row["path"].startswith(tuple(folders)))
    found = {each.path: each.stamp for each in members if each.path.startswith(tuple(folders))}
    db.insert("_report_listing", project_id=project, listing=to_json(known | found), is_partial=1)
    reads = _read_changed(db, project, workspace)
    with db.transaction():
        for path, read in reads:
            _report(db, project, path, read)
        db.insert("_read_skills", project_id=project)


def stat(workspace: Workspace, path: str) -> Member | None:
    """A file without its text; None where there is none, or something that is refused has taken its place."""
    try:
        return workspace.stat(path)
    except PermissionDenied:
        return None


def write(db: Store, effect: Row) -> dict[str, Any]:
    """Write the file of an accepted proposal; returns the columns of its `_finish_effect`.

    The write is atomic, inside the root, and fails where the file has changed since it was proposed, or a link leads to
    another one.
    """
    detail = json.loads(effect["detail"])
    try:
        workspace = _workspace(db, effect, detail["path"])
        expected = {"before": detail.get("before"), "leads_to": detail.get("leads_to")}
        mode = detail.get("executable")
        executable = None if mode is None else bool(mode)
        digest = workspace.write(detail["path"], effect["body"], executable=executable, **expected)
        # another program may write it at once: what stands here is the stamp of our bytes, or that of no file
        found = workspace.read(detail["path"], len(effect["body"].encode()))
        size, mtime_ns = (found.size, found.mtime_ns) if found.sha256 == digest else (0, 0)
    except EngineError as error:
        return failure(error)
    return {"state": "resolved", "detail": json.dumps({"sha256": digest, "size": size, "mtime_ns": mtime_ns})}


def delete(db: Store, effect: Row) -> dict[str, Any]:
    """Remove the file of an accepted proposal; returns the columns of its `_finish_effect`.

    It fails where the file has changed since; a file that is gone already counts as removed.
    """
    detail = json.loads(effect["detail"])
    try:
        _workspace(db, effect, detail["path"]).delete(detail["path"], before=detail.get("before"))
    except EngineError as error:
        return failure(error)
    return {"state": "resolved"}


def failure_ahead(db: Store, effect: Row) -> dict[str, Any] | None:
    """The columns of `_finish_effect` where a file is neither as it was when its change was proposed, nor as that would
    leave it; else None.
    """
    detail = json.loads(effect["detail"])
    text = effect["body"] if effect["kind"] == "file_write" else None
    try:
        expected = {"before": detail.get("before"), "leads_to": detail.get("leads_to")}
        _workspace(db, effect, detail["path"]).expect(detail["path"], after=text, **expected)
    except EngineError as error:
        return failure(error)
    return None


def _workspace(db: Store, effect: Row, path: str) -> Workspace:
    """The workspace of an effect on the file `path`; raises `PermissionDenied` (403) for a file that holds keys."""
    workspace = Workspace.at(effect["root"], db.place)
    project = db.value("select project_id from runs where id = ?", (effect["run_id"],))
    workspace.expect_no_keys(path, _patterns(db, project, ignored=False))
    return workspace


def failure(error: EngineError) -> dict[str, Any]:
    """The columns of `_finish_effect` for an effect that raised `error`."""
    outcome = {403: "permission", 404: "not_found", 409: "conflict"}.get(error.status, f"status:{error.status}")
    return {"state": "failed", "outcome": outcome, "message": error.message}


def _read_changed(db: Store, project_id: int, workspace: Workspace) -> list[tuple[str, FileRead]]:
    """The files that `_unread_files` names, as they are on disk."""
    limit, picture_limit = int(_setting(db, "file_max_bytes")), int(_setting(db, "picture_max_bytes"))
    unread = db.rows("select path from _unread_files where project_id = ? order by path", (project_id,))
    keys = KeyFiles(workspace.root, _patterns(db, project_id, ignored=False))
    paths = [row["path"] for row in unread]
    return list(workspace.read_all(paths, limit, added=keys, picture_bytes=picture_limit))


def _report(db: Store, project_id: int, path: str, read: FileRead) -> None:
    db.insert(
        "_report_file",
        project_id=project_id,
        path=path,
        kind=read.kind,
        size=read.size,
        mtime_ns=read.mtime_ns,
        sha256=read.sha256,
        text=read.text,
        leads_to=read.leads_to,
        picture=read.picture,
        is_executable=read.is_executable,
        reason=read.reason,
    )


def _patterns(db: Store, project_id: int, *, ignored: bool) -> list[str]:
    """The patterns of files that a person ignores, or of those that a person adds."""
    rows = db.rows(
        "select pattern from file_constraints where project_id = ? and (rule = 'ignore') = ?",
        (project_id, ignored),
    )
    return [row["pattern"] for row in rows]


def _own_patterns(db: Store, root: Path) -> list[str]:
    """What belongs to a project although it is hidden: files with instructions, and the folders of skills that are there."""
    files = [name for name in _names(db, "instruction_files") if name.startswith(".")]
    return files + [f"{name}/**" for name in _names(db, "skill_folders") if (root / name).is_dir()]


def _names(db: Store, setting: str) -> list[str]:
    return [name for each in (_setting(db, setting) or "").split(",") if (name := each.strip())]


def _setting(db: Store, name: str) -> str:
    return str(db.value("select value from settings where name = ?", (name,)))
