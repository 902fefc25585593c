"""The only writes of an inspector: a decision on a proposal, and a prompt to a run.

spec: @inspector_writes
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.errors import Conflict, NotFound, ValidationError

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Options

Opener = Callable[[Path], "Database"]
"""Opens a database to write; raises `PermissionDenied` (403) for one that its user does not know."""
Shown = tuple[str, dict[str, str]]
"""The page that is shown after a write: its name, and what it is asked for."""
_OPEN = "select run, path, action, target, detail, kind from open_proposals where proposal_id = ? and run = ?"
_WORK = "select state from open_work where run = ? order by state = 'running' desc limit 1"


def decide(db: Database, form: Mapping[str, str]) -> Shown:
    """Take a decision on one proposal. Raises `Conflict` (409) where it is not open any more, and what `resolve` raises."""
    run, number = form.get("run", ""), form.get("proposal", "")
    if not number.isdigit():
        raise ValidationError("proposal: a number is missing")
    with db.transaction():
        proposal = db.row(_OPEN, (int(number), run))
        if proposal is None:
            raise Conflict("this proposal is no longer open: somebody else has decided, or its prompt has ended")
        if form.get("digest", "") != digest(proposal["detail"] or ""):
            raise Conflict("this proposal has changed since it was shown; load the page again")
        accept = form.get("decision") == "accept"
        if not accept and form.get("decision") != "reject":
            raise ValidationError("decision: use accept or reject")
        reason = form.get("reason", "").strip() or None
        body = _body(form, is_question=proposal["kind"] == "question") if accept else None
        db.insert(
            "resolutions",
            run_id=db.value("select id from runs where alias = ?", (run,)),
            path=proposal["path"], proposal_id=int(number), decision="accept" if accept else "reject",
            body=body, reason=None if accept else reason, decided_by=person(),
        )  # fmt: skip
    return "proposals", {"told": f"{'Accepted' if accept else 'Rejected'}. {_next(db, run)}"}


def prompt(db: Database, form: Mapping[str, str]) -> Shown:
    """Give a prompt to a run, or to a new one, with options, without driving it.

    Raises `NotFound` (404) for an unknown run, `Conflict` (409) if a new run has the name of another one, and what
    `db.start` raises.
    """
    run, text = form.get("run", ""), form.get("prompt", "").replace("\r\n", "\n").strip()
    if not text:
        raise ValidationError("the prompt is empty")
    is_new = form.get("new") == "1"
    is_there = bool(run) and db.value("select 1 from runs where alias = ?", (run,)) is not None
    if is_new and is_there:
        raise Conflict(f"run {run!r}: already exists; choose another name, or open it and send the prompt there")
    if not is_new and not is_there:
        raise NotFound(f"run {run!r}: there is no such run")
    started = db.start(text, run=run or None, **_options(db, form, is_new=is_new))
    return "run", {"run": started.run, "told": f"The prompt waits in line. {_next(db, started.run)}"}


def _options(db: Database, form: Mapping[str, str], *, is_new: bool) -> Options:
    """The options that the form has named; what is left empty is left to the run and the settings."""
    found: dict[str, Any] = {}
    for name in ("model", "effort", *(("persona", "root") if is_new else ())):
        if value := form.get(name, "").strip():
            found[name] = value
    if mode := form.get("mode", "").strip():
        found["mode"] = mode
    for name in ("max_turns", "max_depth"):
        if value := form.get(name, "").strip():
            if not value.isascii() or not value.isdigit() or len(value) > 9:
                raise ValidationError(f"{name} must be a whole number, not {value[:40]!r}")
            found[name] = int(value)
    flags = "select name from run_options where scope = 'loop' and kind = 'flag'"
    found |= {name: True for (name,) in db.tuples(flags) if form.get(name) == "1"}
    if "root" in found and not db.value("select 1 from projects where root = ?", (found["root"],)):
        raise NotFound(
            f"folder {found['root'][:200]!r}: no run of this file works there; start one from the command line"
        )
    return cast("Options", found)


def digest(text: str) -> str:
    """Tells whether a proposal is still what a person saw."""
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def person() -> str:
    """Who decides: the user of this machine, at the inspector."""
    try:
        return f"{getpass.getuser()} (web)"
    except (KeyError, OSError):
        return "person (web)"


def _body(form: Mapping[str, str], *, is_question: bool) -> str | None:
    if is_question:
        answer = form.get("answer", "").strip() or form.get("body", "").strip()
        if not answer:
            raise ValidationError("the answer is empty")
        return answer
    if form.get("edited") != "1":
        return None
    # a form ends its lines in another way than the file did
    return form.get("body", "").replace("\r\n", "\n")


def _next(db: Database, run: str) -> str:
    return (
        "The process that drives the run goes on."
        if db.value(_WORK, (run,)) == "running"
        else f"No process drives the run: engine resume {run}"
    )
