"""The only writes of an inspector: a decision on a proposal, and a prompt to a run.

spec: @inspector_writes
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Conflict, NotFound, ValidationError

if TYPE_CHECKING:
    from engine.api.database import Database

Opener = Callable[[Path], "Database"]
"""Opens a database to write; raises `PermissionDenied` (403) for one that its user does not know."""
_OPEN = "select run, path, action, target, detail, kind from open_proposals where proposal_id = ? and run = ?"
_WORK = "select state from open_work where run = ? order by state = 'running' desc limit 1"


def decide(db: Database, form: Mapping[str, str]) -> str:
    """Take a decision on one proposal; the address of the page and what is told there. Raises `Conflict` (409) where it is
    not open any more, and what `resolve` raises.
    """
    run, number = form.get("run", ""), form.get("proposal", "")
    if not number.isdigit():
        raise ValidationError("proposal: a number is missing")
    with db.transaction():
        proposal = db.row(_OPEN, (int(number), run))
        if proposal is None:
            raise Conflict("this proposal is not open any more: somebody else has decided, or its prompt has ended")
        if form.get("digest", "") != digest(proposal["detail"] or ""):
            raise Conflict("this proposal is not as it was shown; look at it again")
        accept = form.get("decision") == "accept"
        if not accept and form.get("decision") != "reject":
            raise ValidationError("decision: say accept or reject")
        reason = form.get("reason", "").strip() or None
        body = _body(form, is_question=proposal["kind"] == "question") if accept else None
        db.insert(
            "resolutions",
            run_id=db.value("select id from runs where alias = ?", (run,)),
            path=proposal["path"], proposal_id=int(number), decision="accept" if accept else "reject",
            body=body, reason=None if accept else reason, decided_by=person(),
        )  # fmt: skip
    return f"{'Accepted' if accept else 'Rejected'}. {_next(db, run)}"


def prompt(db: Database, form: Mapping[str, str]) -> str:
    """Give a prompt to a run, without driving it."""
    run, text = form.get("run", ""), form.get("prompt", "").replace("\r\n", "\n").strip()
    if not text:
        raise ValidationError("the prompt is empty")
    if db.value("select 1 from runs where alias = ?", (run,)) is None:
        raise NotFound(f"run {run!r}: there is no such run")
    db.start(text, run=run)
    return f"The prompt waits in line. {_next(db, run)}"


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
