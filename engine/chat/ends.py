"""Shows each prompt above its answer, and how it ended; in each session on a run every prompt stands there once.

spec: @chat_together
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from engine.display.statuses import words_for_end
from engine.functions.counts import counted
from engine.terminal.drawing.code import shown
from engine.terminal.drawing.facts import RunFacts
from engine.terminal.drawing.folding import folded
from engine.terminal.drawing.look import Line, Span
from engine.terminal.exit_codes import exit_code
from engine.terminal.narrating import here
from engine.terminal.printing import costs, one_line, print_text

from .ended import TAKEN_BACK, ended_prompts, last_ended

if TYPE_CHECKING:
    from engine.contract import Result
    from engine.terminal.drawing.telling import Telling

    from .session import Session

_MOST_LINES = 30
"""Lines of a prompt that are shown."""
_OF_TURN = """
    select l.sequence as loop, l.prompt
    from runs as r
    join turns as t on t.run_id = r.id
    join loops as l on l.id = t.loop_id
    where r.alias = ? and t.sequence = ?
"""


class Ends:
    """What is shown of the prompts of a run. `own` are the numbers of those that this session gave."""

    def __init__(self, session: Session, telling: Telling) -> None:
        self.own: set[int] = set()
        self._session = session
        self._telling = telling
        self._run: str | None = None
        self._last = 0
        self._told: set[int] = set()
        self._ended: set[int] = set()

    def watch(self, run: str) -> None:
        """Tell of `run` from now on."""
        if run == self._run:
            return
        db = self._session.db
        self._run, self._told, self._ended = run, set(), set()
        own = min(self.own, default=None)
        last = last_ended(db, run)
        self._last = last if own is None or own > last else own - 1
        self._telling.facts = RunFacts(db, run)

    def given(self, loop: int, text: str, *, waits: bool) -> None:
        """A prompt was given; one that does not wait is shown at once."""
        if self._session.run != self._run:
            self.own = set()
        self.own.add(loop)
        self.watch(str(self._session.run))
        if not waits:
            self._show(loop, text)

    def forget(self, loop: int) -> None:
        """A prompt was taken back."""
        self._told.add(loop)

    def is_told(self, loop: int) -> bool:
        """Whether a prompt stands on the screen already."""
        return loop in self._told

    def hear(self, event: Any) -> None:
        """Take an event of the run."""
        if event["type"] == "followed":
            self._telling.say([[Span("another process works on this run; you see its work here", "warn")]])
            return
        if event.get("run"):
            self._telling(event)
            return
        if event["type"] == "turn" and (row := self._session.db.row(_OF_TURN, (self._run, event["turn"]))):
            self._show(row["loop"], row["prompt"])
        self._telling(event)
        # the end of one that was taken back is not that of the next
        if event["type"] == "loop" and event["status"] not in (100, 102) and event.get("body") != TAKEN_BACK:
            self._tell_end(1)  # what has ended since is told by the events that follow

    def rested(self) -> None:
        """Tell how all prompts ended that nobody was told of: the run does nothing any more."""
        self._tell_end(None)

    def _tell_end(self, most: int | None) -> None:
        from engine.driving import results

        db = self._session.db
        rows = [] if self._run is None else ended_prompts(db, self._run, self._last)
        told = [row for row in rows if row["loop"] not in self._ended and row["reason"] != TAKEN_BACK]
        for row in told[:most]:
            self._ended.add(row["loop"])
            result = results.result(db, str(self._run), row["loop"])
            self._show(row["loop"], row["prompt"])
            self._telling.draw_answer(result.answer)
            if result.answer and not sys.stdout.isatty():
                print_text(result.answer)
                sys.stdout.flush()
            self._telling.say(self._end(result), "end")
            self._session.note(exit_code(result.status, accepted=result.accepted))

    def _show(self, loop: int, text: str) -> None:
        """Show a prompt above its answer."""
        if loop in self._told:
            return
        self._told.add(loop)
        look = here()
        sign = [Span(f"{look.mark('prompt')} ", "strong mark")]
        lines: list[Line] = []
        if loop not in self.own:
            sign = [*sign, Span("another session: ", "dim")]
        for number, part in enumerate(text.split("\n")[:_MOST_LINES]):
            first = [Span("  ")] if number else sign
            lines += folded([*first, Span(shown(part), "strong")], look.width - 1, rest=[Span("  ")])
        if text.count("\n") >= _MOST_LINES:
            rest = counted(text.count("\n") + 1 - _MOST_LINES, "line")
            lines.append([Span(f"  {look.mark('more')} {rest} more", "dim")])
        self._telling.say(lines, "prompt")

    def _end(self, result: Result) -> list[Line]:
        db = self._session.db
        look = here()
        end = one_line(words_for_end(db, result.status, result.reason), 300)
        tokens = f"{result.usage['prompt_tokens']:,} + {result.usage['completion_tokens']:,} tokens"
        style = {0: "good", 6: "warn"}.get(exit_code(result.status, accepted=result.accepted), "bad")
        used = f"{counted(result.turns, 'turn')}, {tokens}, {costs(result.cost, result.tree_cost)}"
        line = [Span(f"{result.run}: {end}", style), Span(f" ({used})", "dim")]
        return folded(line, look.width - 1, rest=[Span("  ")])


__all__ = ["Ends"]
