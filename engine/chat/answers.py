"""Drives the run of a session, or follows it while another process works on it: each answer stands under its prompt.

spec: @chat_together
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.terminal.driver import drive_run, print_result, say_what_may_lack
from engine.terminal.narrating import Narrates, narrator
from engine.terminal.printing import one_line, say

from .ended import ended_prompts, last_ended

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.terminal.interrupt import Interrupt

_LOOK_S = 0.05
_NEWEST = "select coalesce(max(id), 0) from events"
_MOST_OF_PROMPT = 200


class Answers:
    """Prints the result of each prompt of `run` once, when it has ended; `own` is the number of the session's prompt."""

    def __init__(self, db: Database, run: str, own: int | None) -> None:
        self._db = db
        self._run = run
        self._own = own
        self._narrates: Narrates | None = None
        self._last = last_ended(db, run)

    def print(self) -> None:
        """Print those that have ended since the last call."""
        from engine.driving import results

        for row in ended_prompts(self._db, self._run, self._last):
            self._last = row["loop"]
            if row["loop"] != self._own:
                say(f"another session: {one_line(row['prompt'], _MOST_OF_PROMPT)}", dim=True)
            result = results.result(self._db, self._run, row["loop"])
            print_result(self._db, result, is_drawn=bool(self._narrates and self._narrates.has_drawn(result.answer)))
            say_what_may_lack(self._db, self._run, row["loop"])

    def teller(self, narrates: Narrates) -> Callable[[Any], None]:
        """What gets the events of the run: `narrates`, and each answer as soon as it is there."""
        self._narrates = narrates

        def tell(event: Any) -> None:
            narrates(event)
            if event["type"] == "loop" and not event.get("run"):
                narrates.hide()
                self.print()

        return tell


def drive_or_follow(db: Database, run: str, interrupt: Interrupt, *, yolo: bool, own: int | None) -> None:
    """Drive `run`; while another process does, show what that does, until the prompt `own` has ended or it lets go.

    Without a prompt of its own it raises `LeaseHeld` (409) while another process drives the run.
    """
    from engine.errors import LeaseHeld

    answers = Answers(db, run, own)
    while True:
        try:
            told = narrator(db, run, keeps=sys.stdout.isatty())
            drive_run(db, run, interrupt, yolo=yolo, kept=None, narrates=told, tells=answers.teller(told))
            answers.print()
            return
        except LeaseHeld:
            if own is None:
                raise
        say("another process works on this run; you see its work here", "yellow")
        _follow(db, run, interrupt, answers, own)
        if interrupt.struck or _has_ended(db, run, own):
            return


def _follow(db: Database, run: str, interrupt: Interrupt, answers: Answers, own: int) -> None:
    """Show what another process does, until the prompt `own` has ended, it lets go of the run, or somebody interrupts."""
    from engine.api.following import Follower
    from engine.driving.lease import is_held

    follower = Follower(db, run, int(db.value(_NEWEST)))
    with narrator(db, run, keeps=sys.stdout.isatty()) as told:
        tell = answers.teller(told)
        while not interrupt.struck:
            held = is_held(db, run)
            if follower.stirred():
                for event in follower.news():
                    tell(event)
            answers.print()
            if not held or _has_ended(db, run, own):
                return
            time.sleep(_LOOK_S)


def _has_ended(db: Database, run: str, loop: int) -> bool:
    return any(row["loop"] == loop for row in ended_prompts(db, run, loop - 1))
