"""Methods about the entries of a run and the files of a project."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.driving.requests import carry_out, located, look
from engine.errors import NotFound, Overflow, ValidationError
from engine.project.constraints import checked_patterns, constrain, release

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

    from .projects import Project

MOST_CHARS = 16_000_000
"""Characters of the entries that are sent at once."""
_ENTRIES = """
    select path, scheme, category, visibility, state, outcome, status, turn, tokens, attributes, body
    from known_entries
    where run = :run
        and (:pattern is null or pattern_match(:pattern, path))
        and (:body is null or instr(body, :body) > 0)
    order by path
    limit coalesce(:limit, 1000) offset coalesce(:offset, 0)
"""


async def get(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Make entries visible; with `persist` the files of that pattern belong to the project from now on."""
    persist, run = given.get("persist"), given.get("run")
    if not persist and run is None:
        raise ValidationError("get: give run to make entries visible in it, or persist to add files")
    told: dict[str, Any] = {}
    if persist:
        told |= await store(project, {"path": given["path"], "readonly": given.get("readonly")})
    if run is not None:
        told |= await _verb(project, "get", run, given["path"])
    return told


async def set_(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Write an entry or a file, or change attributes and visibility."""
    attributes = dict(given.get("attributes") or {})
    visibility = attributes.pop("visibility", None)
    if given["path"].lower().startswith("run://"):
        raise ValidationError("set: cannot change a run; use ask, act, run/abort, run/fork or run/config")
    if visibility is not None and not isinstance(visibility, str):
        raise ValidationError("set: visibility must be visible, summarized or archived")
    columns = {"body": given.get("body"), "visibility": visibility}
    if attributes:
        columns["attributes"] = json.dumps(attributes)
    return await _verb(project, "set", given["run"], given["path"], **columns)


async def rm(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Remove entries or files."""
    return await _verb(project, "rm", given["run"], given["path"])


async def cp(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Copy an entry."""
    return await _verb(project, "cp", given["run"], given["path"], to=given["to"])


async def mv(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Move an entry."""
    return await _verb(project, "mv", given["run"], given["path"], to=given["to"])


async def store(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Say which files belong to the project."""
    chosen = [name for name in ("persist", "readonly", "ignore", "clear") if given.get(name)]
    rules = {"readonly": "readonly", "ignore": "ignore"}
    if len({*chosen} - {"persist"}) > 1:
        raise ValidationError(f"store: choose one of {', '.join(chosen)}")
    root, rule = project.root, next((rules[name] for name in chosen if name in rules), "add")

    def write(db: Database) -> list[str]:
        patterns = checked_patterns(root, [given["path"]], root)
        if "clear" in chosen:
            release(db, root, patterns)
        else:
            constrain(db, root, patterns, rule)
        return patterns

    patterns = await project.hub.db.call_async(write)
    return {"pattern": patterns[0], "rule": None if "clear" in chosen else rule}


async def get_entries(project: Project, given: dict[str, Any]) -> list[Row]:
    """The entries that a run sees, in the order of their paths; 1,000 unless `limit` says otherwise."""
    asked = {name: given.get(name) for name in ("run", "pattern", "body", "limit", "offset")}

    def read(db: Database) -> list[Row]:
        expect_run(db, given["run"])
        if wrong := db.value("select pattern_error(?)", (asked["pattern"],)):
            raise ValidationError(str(wrong))
        if (chars := db.value(f"select sum(length(body)) from ({_ENTRIES})", asked) or 0) > MOST_CHARS:  # noqa: S608 - ours
            raise Overflow(
                f"these entries have {chars:,} characters, and at most {MOST_CHARS:,} are sent at once; use limit "
                "or pattern"
            )
        return db.rows(_ENTRIES, asked)

    rows = await project.hub.db.call_async(read)
    return [row | {"attributes": json.loads(row["attributes"] or "{}")} for row in rows]


def expect_run(db: Database, run: str) -> None:
    """Raise `NotFound` (404) where there is no such run."""
    if not db.value("select 1 from runs where alias = ?", (run,)):
        raise NotFound(f"run {run!r}: there is no such run; getRuns lists them")


async def _verb(project: Project, verb: str, run: str, path: str, **columns: Any) -> dict[str, Any]:
    def write(db: Database) -> dict[str, Any]:
        expect_run(db, run)
        request = {"verb": verb, "path": located(db, run, path), **columns}
        if columns.get("to") is not None:
            request["to"] = located(db, run, columns["to"])
        look(db, run, [request["path"]])
        (row,) = carry_out(db, run, [request])
        return row

    return await project.hub.db.call_async(write)
