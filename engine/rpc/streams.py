"""Methods about what commands print: of commands that a client carries out, and the end of any command.

The server carries out what its runs ask for. A client does so for a command that it has claimed, with its decision or
before anybody else has begun it; the doors of the file refuse everybody else then.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.functions.terminals import Terminal
from engine.processes import claims

from .entries import expect_run

if TYPE_CHECKING:
    from engine.api.database import Database

    from .projects import Project

_EFFECT = """
    select p.effect_id
    from runs as r
    join _process_paths as p on p.run_id = r.id
    where r.alias = ? and p.path = ?
"""


async def stream(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Store a piece of output as a terminal shows it; the first one tells that the command has begun.

    A line that is redrawn waits until it has its end, or the command has.
    """

    def write(db: Database) -> None:
        with db.transaction():
            effect, channel = _begun(db, project, given), int(given["channel"])
            terminal = project.terminals.setdefault((given["run"], given["path"], channel), Terminal())
            _append(db, project, effect, channel, terminal.feed(given["chunk"]) + terminal.partial())

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
    """Have a command ended by whoever runs it; one that a client carried out is over then, and its run goes on."""
    run, path, reason = given["run"], given["path"], given.get("reason")

    def write(db: Database) -> bool:
        was_claimed = claims.is_claimed(db, run, path)
        db.cancel(run, path, reason=reason, by="rpc")
        return was_claimed

    goes_on = await project.hub.db.call_async(write)
    project.hub.tell(str(project.root), "stream/cancelled", {"run": run, "path": path, "reason": reason})
    if goes_on:
        project.hub.drive(run)
    return {}


async def _ended(project: Project, given: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    def write(db: Database) -> None:
        with db.transaction():
            effect = _begun(db, project, given)
            for key in [key for key in project.terminals if key[:2] == (given["run"], given["path"])]:
                _append(db, project, effect, key[2], project.terminals.pop(key).finish())
            db.insert("_finish_effect", effect_id=effect, lease=project.claimant, **result)

    await project.hub.db.call_async(write)
    project.hub.drive(given["run"])
    return {}


def _append(db: Database, project: Project, effect: int, channel: int, text: str) -> None:
    if text:
        db.insert("_append_output", effect_id=effect, channel=channel, text=text, lease=project.claimant)


def _begun(db: Database, project: Project, given: dict[str, Any]) -> int:
    """The effect of the command, which this client carries out from here on.

    Raises `NotFound` (404) where no command waits, `Conflict` (409) where somebody else carries it out.
    """
    expect_run(db, given["run"])
    claims.claim(db, given["run"], given["path"], project.claimant)
    effect = int(db.value(_EFFECT, (given["run"], given["path"])))
    db.insert("_start_effect", effect_id=effect, lease=project.claimant)
    return effect


def _detail(given: dict[str, Any], **more: Any) -> str:
    duration = {"duration_s": given["duration"]} if given.get("duration") is not None else {}
    return json.dumps({**more, **duration})
