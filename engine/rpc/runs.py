"""Methods about runs: give prompts, decide, end, fork, look."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from typing import TYPE_CHECKING, Any, cast

from engine.driving import prompts, runs
from engine.errors import ValidationError
from engine.processes import claims
from engine.processes.stale import heal

from .entries import expect_run
from .hub import GOES_ON
from .params import option_values, snake
from .telling import proposal_of, state_of

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Options, Run
    from engine.db.database import Row

    from .projects import Project

_RUNS = """
    select o.*
    from runs as r
    join run_overview as o on o.run = r.alias
    join projects as p on p.id = r.project_id
    where p.root is null or p.root = :root
    order by r.id desc
    limit coalesce(:limit, -1) offset coalesce(:offset, 0)
"""
_LATEST_MODE = (
    "select mode from loops where run_id = (select id from runs where alias = ?) order by sequence desc limit 1"
)
_STATUS = "select status from runs where alias = ?"
_ACTIONS = {"accept": True, "reject": False, "error": False}


async def ask(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Give a prompt that only reads, and drive it in the background."""
    return await _prompted(project, given, "ask")


async def act(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Give a prompt that may change things, and drive it in the background."""
    return await _prompted(project, given, "act")


async def inject(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Give a prompt to a run that is there."""

    def mode(db: Database) -> str:
        expect_run(db, given["run"])
        return str(given.get("mode") or db.value(_LATEST_MODE, (given["run"],)) or "act")

    asked = {name: value for name, value in given.items() if name not in ("message", "mode")}
    chosen = await project.hub.db.call_async(mode)
    return await _prompted(project, {**asked, "prompt": given["message"]}, chosen)


async def start_run(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Make a run without a prompt; it has none to be driven."""
    options: dict[str, Any] = {snake(name): value for name, value in given.items() if name != "run"}
    options |= {"root": str(project.root), "project": project.name}

    def start(db: Database) -> str:
        return prompts.make(db, given.get("run"), cast("Options", options))

    return {"run": await project.hub.db.call_async(start)}


async def resolve(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Decide, and go on with the run."""
    run, asked = given["run"], given["resolution"]
    action, path, output = asked.get("action"), asked.get("path"), asked.get("output")
    if action not in _ACTIONS or not all(isinstance(each, str | None) for each in (path, output)):
        raise ValidationError("resolution: action must be accept, reject or error; path and output must be texts")
    accept, reason = _ACTIONS[action], None
    if not accept:
        # without words a rejection ends the prompt, with some the model tries again: an error is told to it
        output, reason = None, output or ("error" if action == "error" else None)

    # said with the decision: whatever drives the run finds both
    claimant = None if given.get("drive", True) else project.claimant

    def decide(db: Database) -> int:
        expect_run(db, run)
        runs.resolve(db, run, path, accept, body=output, reason=reason, by="rpc", claimant=claimant)
        return int(db.value(_STATUS, (run,)))

    status = await project.hub.db.call_async(decide)
    if given.get("drive", True):
        project.hub.drive(run)
    return {"run": run, "status": status}


async def abort(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """End a prompt; those in line behind it are driven."""
    run = given["run"]

    def end(db: Database) -> int:
        expect_run(db, run)
        db.abort(run, given.get("reason", "aborted"), loop=given.get("loop"))
        return int(db.value(_STATUS, (run,)))

    status = await project.hub.db.call_async(end)
    project.hub.drive(run)
    return {"run": run, "status": status}


async def resume(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Drive a run on; one that has nothing to do stays as it is. What this client was to carry out there is given back."""
    run = given["run"]

    def look(db: Database) -> dict[str, Any]:
        expect_run(db, run)
        heal(db)
        if claims.has_any(db, project.claimant):
            claims.release(db, project.claimant, run)
        return {"run": run, "status": db.value(_STATUS, (run,)), "resumed": bool(db.value(GOES_ON, (run,)))}

    found = await project.hub.db.call_async(look)
    project.hub.drive(run)
    return found


async def fork(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Fork a run."""
    return {
        "run": await project.hub.db.call_async(lambda db: db.fork(given["run"], given.get("name"), given.get("at")))
    }


async def config(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Change what a run is driven with."""
    values = {snake(name): value for name, value in given.items() if name != "run"}

    def change(db: Database) -> None:
        runs.configure(db, given["run"], **values)

    await project.hub.db.call_async(change)
    return {"run": given["run"]}


async def rename(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Give a run another name."""
    await project.hub.db.call_async(lambda db: runs.rename(db, given["run"], given["name"]))
    return {"run": given["name"]}


async def get_runs(project: Project, given: dict[str, Any]) -> list[Row]:
    """The runs of the project's folder, and those without one."""
    asked = {"root": str(project.root), "limit": given.get("limit"), "offset": given.get("offset")}
    rows = await project.hub.db.call_async(lambda db: db.rows(_RUNS, asked))
    return [row | {"labels": json.loads(row["labels"] or "[]")} for row in rows]


async def get_messages(project: Project, given: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversation of a run as messages."""
    return await project.hub.db.call_async(lambda db: db.messages(given["run"], given.get("form") or "openai"))


async def import_messages(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Add messages to a run of the project."""

    def add(db: Database) -> int:
        known = db.value("select 1 from runs where alias = ?", (given["run"],))
        root = None if known else project.root
        return db.import_messages(given["run"], given["messages"], form=given.get("form"), root=root)

    return {"run": given["run"], "prompts": await project.hub.db.call_async(add)}


async def get_run(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """The state of a run."""

    def read(db: Database) -> dict[str, Any]:
        expect_run(db, given["run"])
        return state_of(db, given["run"]) or {}

    return await project.hub.db.call_async(read)


async def get_proposals(project: Project, given: dict[str, Any]) -> list[dict[str, Any]]:
    """What waits for a decision, the oldest first."""
    found = await project.hub.db.call_async(lambda db: db.proposals(given.get("run")))
    return [{"run": row["run"], **proposal_of(dict(row))} for row in found]


async def sql(project: Project, given: dict[str, Any]) -> list[Row]:
    """The rows of a statement that only reads."""
    bindings = given.get("bindings", [])
    if not all(isinstance(each, str | int | float | None) for each in bindings):
        raise ValidationError("bindings: must be texts, numbers, true, false or null")
    rows = await project.hub.db.call_async(lambda db: db.sql(given["query"], tuple(bindings)))
    return [{name: _told(value) for name, value in row.items()} for row in rows]


def _told(value: Any) -> Any:
    """A value as JSON has it; bytes and infinite numbers are texts."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _file(data: Any) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (TypeError, ValueError) as error:
        raise ValidationError(f"attachments: each must be a file in base64 ({error})") from None


async def _prompted(project: Project, given: dict[str, Any], mode: str) -> dict[str, Any]:
    options: dict[str, Any] = {**option_values(project.options, given), "mode": mode}
    run = given.get("run")
    if given.get("at") is not None and not given.get("fork"):
        raise ValidationError("at: works only together with fork")
    if given.get("fork"):
        if run is None:
            raise ValidationError("fork: is missing; give the name of the run to copy")
        options |= {"fork": run, "at": given.get("at")}
        run = None
    options |= {"root": str(project.root), "project": project.name}
    if given.get("attachments") is not None:
        options["attachments"] = [*map(_file, given["attachments"])]

    def start(db: Database) -> Run:
        return db.start(given["prompt"], run=run, **cast("Options", options))

    started = await project.hub.db.call_async(start)
    project.hub.drive(started.run)
    return {"run": started.run, "loop": started.loops, "status": started.status}
