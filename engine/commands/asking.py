"""Asks the person at the terminal about the proposals of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from .colouring import coloured
from .drawing import drawn_diff, scripts_mixed
from .piped import descriptor
from .printing import say, visible

if TYPE_CHECKING:
    from engine.api import Database


def at_terminal() -> bool:
    """Whether a person can be asked: stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def terminal() -> TextIO | None:
    """Where a person's answers are read: stdin, or the terminal itself where stdin is a pipe or a file; None without one."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return sys.stdin
    if descriptor() is None:
        return None
    try:
        opened = open("/dev/tty", encoding=sys.stdin.encoding)  # noqa: SIM115 - read as long as the process lives
        return opened if os.tcgetpgrp(opened.fileno()) == os.getpgrp() else None
    except OSError:
        return None


def user_name() -> str:
    """The name of the person at the terminal, as the system knows it; 'client' where it knows none."""
    from getpass import getuser

    try:
        return getuser() or "client"
    except (KeyError, OSError, ImportError):
        return "client"


class AcceptAll:
    """Accepts every proposal that yolo accepts: no question, and nothing that a policy asks about."""

    decided_by = "yolo"

    def __init__(self, db: Database) -> None:
        self._db = db

    def __call__(self, proposal: Mapping[str, Any]) -> bool | None:
        """Decide on one proposal."""
        found = self._db.value("select 1 from _yolo_proposals where proposal_id = ?", (proposal["proposal_id"],))
        return True if found else None


def show_proposal(proposal: Mapping[str, Any], most: int | None = None) -> None:
    """Show a proposal on stderr: its action, then the coloured diff of a change, or the text of a command or question.

    Of more than `most` lines the first are shown, and how many follow.
    """
    lines = proposal_lines(proposal)
    if proposal["tree"]:
        say(visible(proposal["tree"]), dim=True)
    shown = lines if most is None or len(lines) <= most else lines[:most]
    if proposal["kind"] == "question":
        say(f"{proposal['action']}: " + "\n".join(shown), "cyan")
    elif proposal["kind"] == "process":
        how = ", in the background, until the task ends" if proposal["background"] else ""
        say(f"{proposal['action']}{how}:\n" + "\n".join(f"  $ {line}" for line in shown), "cyan")
    else:
        say(f"{proposal['action']} {visible(proposal['target'] or '')}", "cyan")
        for line in coloured(shown, proposal["target"]):
            say(f"  {line}")
    if len(lines) > len(shown):
        say(f"  … {len(lines) - len(shown)} more lines; [v] shows all", "yellow")
    for note in proposal_notes(proposal):
        say(f"  {note}", "yellow")


def proposal_lines(proposal: Mapping[str, Any]) -> list[str]:
    """What a proposal would do, as a person may read it line by line: a diff, a command line or a question."""
    detail = proposal["detail"] or ""
    return drawn_diff(detail) if proposal["kind"] == "file_write" else visible(detail).split("\n")


def proposal_notes(proposal: Mapping[str, Any]) -> list[str]:
    """What a person should know of a command line or a path before deciding."""
    text = proposal["detail"] if proposal["kind"] == "process" else proposal["target"]
    note = None if proposal["kind"] == "question" else scripts_mixed(text or "")
    return [] if note is None else [f"note: {note}"]


def options_of(db: Database, proposal: Mapping[str, Any]) -> list[str]:
    """The answers that a question offers; none for another proposal."""
    given = db.value("select json_extract(detail, '$.options') from proposals where id = ?", (proposal["proposal_id"],))
    return [option.strip() for option in str(given or "").split(";") if option.strip()]
