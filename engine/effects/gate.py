"""What people allow and refuse beforehand: policies for command lines, and grants for proposals.

The rows stand in the file; that a person gave a right is kept in the user's own store (`engine.trust.rights`),
without which the row is no right.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import Conflict, NotFound, ValidationError

if TYPE_CHECKING:
    from engine.db.database import Row, Store

DECISIONS = ("refuse", "ask", "accept")
_BELOW_ROOT = re.compile(r"(?:\./)?(?!\.{1,2}(?:/|$))[^/*?\[\]~\s]+(?:/(?!\.{1,2}(?:/|$))[^/*?\[\]\s]+)*")
"""A path below the root: no way up, no wildcard, and not from the root of the file system or a home."""
_WORKS_ON = "select max(id) from loops where run_id = ? and status = 102"
KINDS = ("file_write", "file_delete", "process", "mcp")


def add_policy(
    db: Store,
    command: str,
    decision: str,
    *,
    run: str | None = None,
    root: str | PathLike[str] | None = None,
    message: str | None = None,
    except_arguments: str | None = None,
    condition: str = "always",
    by: str = "client",
) -> int:
    """Add a policy for a run, or for the project at `root`; returns its number.

    `command` is a program, and behind it, where not all arguments are meant, a GLOB over them: ``git push*``. A program with
    a slash is one of the project: its path below the root, without wildcards. Raises `ValidationError` (400) and `NotFound`
    (404).
    """
    program, _, arguments = command.strip().partition(" ")
    if not program or ("/" in program and not _BELOW_ROOT.fullmatch(program)):
        raise ValidationError(
            f"policy {command!r}: start with the name of a program, or with its path inside the working folder, "
            "as in .venv/bin/pytest, ./gradlew"
        )
    if decision not in DECISIONS:
        raise ValidationError(
            f"policy {command!r}: the decision must be one of {', '.join(DECISIONS)}, not {decision!r}"
        )
    if decision == "refuse" and not (message or "").strip():
        raise ValidationError(f"policy {command!r}: needs a message that says what to do instead")
    with db.transaction():
        owner = owner_of(db, run, root)
        number = db.value(
            "insert into command_policies (name, level, project_id, run_id, program, arguments, except_arguments, "
            "condition, decision, message, added_by, created_at) values (:name, :level, :project, :run, :program, "
            ":arguments, :except, :condition, :decision, :message, :by, now()) returning id",
            {
                "name": command.strip(),
                "level": "project" if run is None else "run",
                "project": owner["project_id"] if run is None else None,
                "run": None if run is None else owner["run_id"],
                "program": program,
                "arguments": arguments.strip() or "*",
                "except": except_arguments,
                "condition": condition,
                "decision": decision,
                "message": message,
                "by": by,
            },
        )
        if right := db.value("select right_text from _policy_rights where policy_id = ?", (number,)):
            db.rights.change(give=[right])
    return int(number)


def remove_policy(db: Store, number: int) -> Row:
    """Remove a policy that a person added; returns what it was.

    Raises `NotFound` (404), and `Conflict` (409) for one that comes with the engine.
    """
    with db.transaction():
        found = db.row("select * from policies where policy_id = ?", (number,))
        if found is None:
            raise NotFound(f"policy {number}: not found; 'engine allow policy list' lists the policies")
        if found["level"] == "shipped":
            raise Conflict(
                f"policy {number}: is built in and cannot be removed; to allow the command, add a policy that accepts it"
            )
        right = db.value("select right_text from _policy_rights where policy_id = ?", (number,))
        db.execute("delete from command_policies where id = ?", (number,))
        db.rights.change(take=[right] if right else [])
    return found


def explain(db: Store, line: str, *, run: str | None = None, root: str | PathLike[str] | None = None) -> dict[str, Any]:
    """What becomes of a command line, in a run or in the project at `root`: the decision and each program with its policy.

    Nothing is stored. Raises `NotFound` (404) for a run or folder that does not exist.
    """
    with db.transaction():
        db.execute("savepoint explained")
        try:
            owner = owner_of(db, run, root)
            db.insert("_explained_lines", run_id=owner["run_id"], project_id=owner["project_id"], line=line)
            decided = db.row("select * from _explained_decisions")
            programs = db.rows("select * from _explained_programs order by ordinal")
        finally:
            db.execute("rollback to explained")
            db.execute("release explained")
    assert decided is not None, "the line was just inserted"
    for row in (decided, *programs):
        del row["explained_id"]
    return {"line": line, **decided, "programs": programs}


def give_grant(
    db: Store,
    run: str,
    kind: str,
    target: str | None,
    *,
    whole_project: bool = False,
    whole_prompt: bool = False,
    by: str = "client",
) -> int:
    """Accept proposals of one kind from now on, in a run or in all runs of its project; returns the number of the grant.

    With `whole_prompt` it ends with the prompt that the run works on.

    `target` is a glob over files, the whole command line, or the tool of an MCP server with its digest; None is every one,
    which only a single run may be given.
    """
    if kind not in KINDS:
        raise ValidationError(f"grant: the kind must be one of {', '.join(KINDS)}, not {kind!r}")
    if whole_project and target is None:
        raise ValidationError("grant: for all runs of a project, give a file pattern or a command line")
    with db.transaction():
        owner = owner_of(db, run, None)
        loop = db.value(_WORKS_ON, (owner["run_id"],)) if whole_prompt else None
        if whole_prompt and loop is None:
            raise Conflict(f"run {run!r}: has no active prompt; grant it for the whole run")
        number = db.value(
            "insert into grants (project_id, run_id, kind, target, granted_by, created_at, loop_id) "
            "values (?, ?, ?, ?, ?, now(), ?) returning id",
            (owner["project_id"], None if whole_project else owner["run_id"], kind, target, by, loop),
        )
        db.rights.change(give=[db.value("select right_text from _grant_rights where grant_id = ?", (number,))])
    return int(number)


def revoke_grant(db: Store, number: int) -> Row:
    """Revoke a grant; returns what it was. Raises `NotFound` (404) for one that is not in force."""
    with db.transaction():
        found = db.row("select * from granted where grant_id = ?", (number,))
        if found is None:
            raise NotFound(f"grant {number}: not found; 'engine allow grants' lists the grants")
        right = db.value("select right_text from _grant_rights where grant_id = ?", (number,))
        db.execute("update grants set revoked_at = now() where id = ?", (number,))
        db.rights.change(take=[right])
    return found


def owner_of(db: Store, run: str | None, root: str | PathLike[str] | None) -> Row:
    """`run_id` and `project_id` of a run, or null and the project at `root`, which is made where there is none.

    Raises `NotFound` (404) for a run or folder that does not exist.
    """
    if run is not None:
        found = db.row("select id as run_id, project_id from runs where alias = ?", (run,))
        if found is None:
            raise NotFound(f"run {run!r}: there is no such run; 'engine runs' lists them")
        return found
    if root is None:
        return {"run_id": None, "project_id": None}
    from engine.project.workspace import Workspace

    place = str(Workspace(Path(root)).root)
    db.execute(
        "insert into projects (name, root, created_at) select :root, :root, now() "
        "where not exists (select 1 from projects where root = :root)",
        {"root": place},
    )
    return {"run_id": None, "project_id": db.value("select id from projects where root = ?", (place,))}
