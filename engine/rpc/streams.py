"""Methods about what commands print: of commands that a client carries out, and the end of any command.

The server carries out what its runs ask for. A client does so in a run that nobody drives: it takes the effect by the path
of the command's record, and the doors of the file refuse it while somebody has the lease of the run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.errors import NotFound

from .entries import expect_run

if TYPE_CHECKING:
    from engine.api import Database

    from .projects import Project

_EFFECT = """
    select f.effect_id
    from runs as r
    join pending_effects as f on f.run_id = r.id
    join _process_paths as p on p.effect_id = f.effect_id
    where r.alias = ? and p.path = ?
"""
_START = """
    insert into start_effect (effect_id)
    select effect_id
    from pending_effects
    where effect_id = ? and state = 'pending'
"""


async def stream(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Store a piece of output; the first one tells that the command has begun."""

    def write(db: Database) -> None:
        with db.transaction():
            db.insert("append_output", effect_id=_begun(db, given), channel=given["channel"], text=given["chunk"])

    async with project.hub.at_rest(given["run"]):
        await project.hub.db.call_async(write)
    return {}


async def completed(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Tell the exit code, and go on with the run."""
    code = given.get("exit_code", 0)
    state = {"state": "resolved"} if code == 0 else {"state": "failed", "outcome": f"exit:{code}"}
    return await _ended(project, given, {**state, "detail": _detail(given, exit_code=code)})


async def aborted(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Tell that it was given up, and go on with the run."""
    detail = _detail(given, note=given.get("reason"))
    return await _ended(project, given, {"state": "failed", "outcome": "cancelled", "detail": detail})


async def cancel(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Have a command ended by whoever runs it."""
    run, path, reason = given["run"], given["path"], given.get("reason")
    await project.hub.db.call_async(lambda db: db.cancel(run, path, reason=reason, by="rpc"))
    project.hub.tell(str(project.root), "stream/cancelled", {"run": run, "path": path, "reason": reason})
    return {}


async def _ended(project: Project, given: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    def write(db: Database) -> None:
        with db.transaction():
            db.insert("finish_effect", effect_id=_begun(db, given), **result)

    async with project.hub.at_rest(given["run"]):
        await project.hub.db.call_async(write)
    project.hub.drive(given["run"])
    return {}


def _begun(db: Database, given: dict[str, Any]) -> int:
    """The effect of the command, which has begun from here on. Raises `NotFound` (404) where none is to be carried out."""
    expect_run(db, given["run"])
    effect = db.value(_EFFECT, (given["run"], given["path"]))
    if effect is None:
        raise NotFound(f"run {given['run']!r}: no command under {given['path']!r} waits to be carried out")
    db.execute(_START, (effect,))
    return int(effect)


def _detail(given: dict[str, Any], **more: Any) -> str:
    duration = {"duration_s": given["duration"]} if given.get("duration") is not None else {}
    return json.dumps({**more, **duration})
