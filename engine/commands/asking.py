"""Asks the person at the terminal about the proposals of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .printing import paint, say, visible

if TYPE_CHECKING:
    from engine.api import Database

    from .interrupt import Interrupt

_LINE_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def at_terminal() -> bool:
    """Whether a person can be asked: stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def accept_all(proposal: dict[str, Any]) -> bool | None:
    """Accept every proposal except a question, which needs an answer."""
    return None if proposal["kind"] == "question" else True


def show_proposal(proposal: dict[str, Any]) -> None:
    """Show a proposal on stderr: its action, then the coloured diff of a change, or the text of a command or question."""
    lines = visible(proposal["detail"] or "").splitlines()
    if proposal["kind"] == "question":
        say(f"{proposal['action']}: " + "\n".join(lines), "cyan")
    elif proposal["kind"] == "process":
        say(f"{proposal['action']}:\n" + "\n".join(f"  $ {line}" for line in lines), "cyan")
    else:
        say(f"{proposal['action']} {visible(proposal['target'] or '')}", "cyan")
        for line in lines:
            say(f"  {line}", _LINE_COLOURS.get(line[:1]))


def options_of(db: Database, proposal: dict[str, Any]) -> list[str]:
    """The answers that a question offers; none for another proposal."""
    given = db.value("select json_extract(detail, '$.options') from proposals where id = ?", (proposal["proposal_id"],))
    return [option.strip() for option in str(given or "").split(";") if option.strip()]


class Asker:
    """Decides by asking: True accepts, False rejects, a text answers, None leaves the proposal open."""

    def __init__(self, db: Database, interrupt: Interrupt) -> None:
        self._db = db
        self._interrupt = interrupt

    def __call__(self, proposal: dict[str, Any]) -> bool | str | None:
        """Ask about one proposal."""
        say()
        show_proposal(proposal)
        try:
            with self._interrupt.asking():
                return self._answer(proposal) if proposal["kind"] == "question" else self._decide(proposal)
        except KeyboardInterrupt:
            return None

    def _decide(self, proposal: dict[str, Any]) -> bool | None:
        while True:
            given = _line("accept? [y] yes, [n] no, [q] decide later: ").strip().lower()
            if given in {"y", "yes"}:
                return True
            if given in {"q", "quit", "\x04"}:
                return None
            if given in {"n", "no"}:
                self._reject(proposal, _line("why not? (for the model; Enter: no reason) ").strip())
                return False

    def _reject(self, proposal: dict[str, Any], reason: str) -> None:
        self._db.insert(
            "answer_proposal",
            proposal_id=proposal["proposal_id"],
            decision="reject",
            reason=None if reason in {"", "\x04"} else reason,
            decided_by="client",
        )

    def _answer(self, proposal: dict[str, Any]) -> str | None:
        options = options_of(self._db, proposal)
        for number, option in enumerate(options, 1):
            say(f"  {number}. {visible(option)}")
        while True:
            given = _line(
                "a number or your own words ([q] later): " if options else "your answer ([q] later): "
            ).strip()
            if given.lower() in {"q", "quit", "\x04"}:
                return None
            if given.isdecimal() and 1 <= int(given) <= len(options):
                return options[int(given) - 1]
            if given:
                return given


def _line(question: str) -> str:
    """A line from the terminal, '\\x04' at its end. The question goes to stderr, because stdout is for the run's answer."""
    sys.stderr.write(paint(question, "yellow", stream=sys.stderr))
    sys.stderr.flush()
    return sys.stdin.readline() or "\x04"
