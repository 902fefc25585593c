"""Asks the person at the terminal about the proposals of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from .drawing import drawn_diff, scripts_mixed
from .piped import descriptor
from .printing import paint, say, visible

if TYPE_CHECKING:
    from engine.api import Database

    from .interrupt import Interrupt

_LINE_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


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
    """Accepts every proposal except a question, which needs an answer."""

    decided_by = "yolo"

    def __call__(self, proposal: Mapping[str, Any]) -> bool | None:
        """Decide on one proposal."""
        return None if proposal["kind"] == "question" else True


def show_proposal(proposal: Mapping[str, Any]) -> None:
    """Show a proposal on stderr: its action, then the coloured diff of a change, or the text of a command or question."""
    if proposal["kind"] == "question":
        say(f"{proposal['action']}: " + "\n".join(proposal_lines(proposal)), "cyan")
    elif proposal["kind"] == "process":
        say(f"{proposal['action']}:\n" + "\n".join(f"  $ {line}" for line in proposal_lines(proposal)), "cyan")
    else:
        say(f"{proposal['action']} {visible(proposal['target'] or '')}", "cyan")
        for line in proposal_lines(proposal):
            say(f"  {line}", _LINE_COLOURS.get(line[:1]))
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


class Asker:
    """Decides by asking: True accepts, False rejects, a text answers, None leaves the proposal open."""

    def __init__(self, db: Database, interrupt: Interrupt, source: TextIO) -> None:
        self._db = db
        self._source = source
        self._interrupt = interrupt
        self.decided_by = user_name()

    def __call__(self, proposal: Mapping[str, Any]) -> bool | str | None:
        """Ask about one proposal."""
        say()
        show_proposal(proposal)
        try:
            with self._interrupt.asking():
                return self._answer(proposal) if proposal["kind"] == "question" else self._decide(proposal)
        except KeyboardInterrupt:
            return None

    def _decide(self, proposal: Mapping[str, Any]) -> bool | None:
        while True:
            given = self._line("accept? [y] yes, [n] no, [q] decide later: ").strip().lower()
            if given in {"y", "yes"}:
                return True
            if given in {"q", "quit", "\x04"}:
                return None
            if given in {"n", "no"}:
                self._reject(proposal, self._line("why not? (for the model; Enter: no reason) ").strip())
                return False

    def _reject(self, proposal: Mapping[str, Any], reason: str) -> None:
        self._db.insert(
            "answer_proposal",
            proposal_id=proposal["proposal_id"],
            decision="reject",
            reason=None if reason in {"", "\x04"} else reason,
            decided_by=self.decided_by,
        )

    def _answer(self, proposal: Mapping[str, Any]) -> str | None:
        options = options_of(self._db, proposal)
        for number, option in enumerate(options, 1):
            say(f"  {number}. {visible(option)}")
        while True:
            given = self._line(
                "a number or your own words ([q] later): " if options else "your answer ([q] later): "
            ).strip()
            if given.lower() in {"q", "quit", "\x04"}:
                return None
            if given.isdecimal() and 1 <= int(given) <= len(options):
                return options[int(given) - 1]
            if given:
                return given

    def _line(self, question: str) -> str:
        """A line from the terminal, '\\x04' at its end. The question goes to stderr: stdout is for the run's answer."""
        sys.stderr.write(paint(question, "yellow", stream=sys.stderr))
        sys.stderr.flush()
        return self._source.readline() or "\x04"
