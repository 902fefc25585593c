"""Tells at a terminal what a run does: lines that stay, and below them those that still move.

It is given the events of a run. What the model writes is drawn as Markdown, a command is a line with how long it took and
the last lines of its output, and what the model thinks is a line when it has been thought.

spec: @live_progress
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from engine.display.demo_mode import hidden
from engine.display.statuses import result_word, told_beside
from engine.functions.counts import counted
from engine.terminal.printing import dollars, one_line, shown_path

from .changes import changes
from .folding import cut, folded
from .last_lines import LAST_LINES, LastLines
from .look import Line, Look, Span, width_of
from .plans import Step, plan_lines, ticked
from .speech import SOON_S, Speech, seconds

_PRINTING = ("sh", "env")
_SILENT = ("think",)
_FOLDED_DIFF = 14
"""Lines of an accepted change that are shown."""
_NARROWEST = 12
"""The fewest cells for what a command is."""
_SPINNER = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")


class Facts(Protocol):
    """What is looked up in the file to tell an event."""

    def diff(self, run: str | None, path: str) -> str | None:
        """The change that a command has made in a file."""
        ...

    def steps(self) -> list[Step]:
        """The steps of the plan that the run works on."""
        ...


class Telling(Speech):
    """What a terminal shows of a run. `words` has the word for each status, `look` what the terminal can now."""

    def __init__(
        self, words: Mapping[int, str], look: Callable[[], Look], facts: Facts | None = None, *, keeps: bool = True
    ) -> None:
        """Unless it `keeps` answers, one is shown while it comes and somebody else prints it."""
        super().__init__(look, keeps=keeps)
        self._words = words
        self.facts = facts
        self._begun: dict[str, float] = {}
        self._output = LastLines()
        self._steps: list[Step] = []
        self._tellers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "turn": self._turn,
            "delta": self._delta,
            "text": self._text,
            "thought": self._thought,
            "begin": self._begin,
            "progress": self._progress,
            "output": self._prints,
            "command": self._command,
            "error": self._command,
            "acceptance": self._command,
            "context": self._note,
            "strike": self._note,
            "sandbox": self._sandbox,
            "embedder": self._note,
            "rules": self._note,
            "cached": self._cached,
            "retry": self._retry,
            "step": self._step,
            "server": self._server,
            "commit": self._beside,
            "hook": self._beside,
            "loop": self._loop,
        }

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Take an event."""
        run = event.get("run")
        if run and event["type"] in ("turn", "delta", "text", "thought", "partial", "begin", "progress", "output"):
            return
        if teller := self._tellers.get(event["type"]):
            teller(event)

    def take(self) -> list[Line]:
        """The lines that stay, each once."""
        self._refresh()
        lines, self._lines = self._lines, []
        return lines

    def moving(self, rows: int) -> list[Line]:
        """What stands below them now, in at most `rows` lines: the last ones."""
        self._refresh()
        look = self._look()
        lines: list[Line] = []
        if self._flow is not None:
            lines = [*self._held[-rows:], *self._flow.moving()]
            if lines and self._kind not in ("", "text"):
                lines = [[], *lines]
        elif self._thoughts:
            lines = self._thinks(look)
        elif self._output.count:
            lines = self._tail(look)
        bottom = [*plan_lines(self._steps, look), self._doing(look)] if self.activity else []
        room = max(rows - len(bottom) - 1, 1)
        above = [cut(line, look.width, look.mark("more")) for line in lines[-room:]]
        gap: list[Line] = [[]] if bottom and (above or self._kind) else []
        return [*above, *gap, *bottom]

    def say(self, lines: list[Line], kind: str = "note") -> None:
        """Let lines of others stand where they belong."""
        self._rest()
        self._add(lines, kind)

    def rest(self) -> None:
        """The run does nothing now: what moved stays as it is."""
        self._rest()
        self.activity = ""

    def draw_answer(self, text: str) -> None:
        """Draw a whole answer, unless it is what was drawn while it came."""
        self._rest()
        if text.strip() and text.strip() != self.answer.strip():
            self._begin_turn()
            self._hear(text, whole=True)
            self._keep()
        self.answer = ""

    def _turn(self, _: Mapping[str, Any]) -> None:
        self._rest()
        self._begin_turn()
        self._does("thinking")

    def _begin(self, event: Mapping[str, Any]) -> None:
        self._rest()
        self._begun[event["path"]] = time.monotonic()
        self._does(f"{event['action']} {one_line(event.get('target') or '', 80)}".strip())

    def _progress(self, event: Mapping[str, Any]) -> None:
        self._does(f"{event['action']}: {one_line(event['text'], 80)}")

    def _prints(self, event: Mapping[str, Any]) -> None:
        self._output.add(event["text"])

    def _command(self, event: Mapping[str, Any]) -> None:
        self._rest()
        action, status, outcome = event["action"], event.get("status") or 500, event.get("outcome") or ""
        if action in _SILENT or (action == "update" and status in (200, 204) and not outcome):
            return
        self._keep()
        run = event.get("run")
        look = self._look()
        target = shown_path(event.get("target") or "")
        result = result_word(self._words, status, outcome)
        style = "good" if status < 300 else "warn" if outcome in ("aborted", "cancelled") or status == 404 else "bad"
        if action == "update":
            self._add(folded([Span(one_line(target, 400), "dim")], look.width, [Span("  ")], [Span("  ")]), "tool")
            return
        change = None
        if action == "set" and status < 300 and self.facts is not None and event.get("path"):
            found = self.facts.diff(run, event["path"])
            change = None if found is None else changes(found, look.wide(look.width - 4))
        spent = self._begun.pop(event.get("path") or "", None)
        told = [
            *([f"+{change.added} -{change.removed}"] if change else []),
            *([result] if result else []),
            *([seconds(time.monotonic() - spent)] if spent and time.monotonic() - spent >= SOON_S else []),
        ]
        end = [Span("  " + look.mark("between").join(told) if told else "", "dim" if status < 300 else style)]
        head = [
            Span(f"{look.mark('dot')} ", style),
            Span(f"{run} ", "dim") if run else Span(""),
            Span(action, "strong"),
            Span(f" {one_line(target, 300)}" if target else ""),
        ]
        lines = [[*cut(head, max(look.width - width_of(end), _NARROWEST), look.mark("more")), *end]]
        said = one_line(event.get("body"), 400) if status >= 400 and not outcome.startswith("exit:") else ""
        if said and said != f"{target} {result}":
            lines += folded([Span(said, "dim")], look.width, [Span("    ")], [Span("    ")])
        if change:
            lines += _some(change.lines, look)
        if action in _PRINTING:
            lines += self._tail(look)
        self._output = LastLines() if action in _PRINTING else self._output
        self._add(lines, "tool")
        if (event.get("target") or "").startswith("plan://"):
            self._tick(look)
        self._does("thinking" if self.activity else "")

    def _tick(self, look: Look) -> None:
        """Tell which steps of the plan are in another state."""
        before, self._steps = self._steps, self.facts.steps() if self.facts else []
        self._add(ticked(before, self._steps, look), "tool")

    def _tail(self, look: Look) -> list[Line]:
        """The last lines of what a command has printed, and how many there were before."""
        before = self._output.count - LAST_LINES
        side = [Span(f"  {look.mark('side')} ", "dim")]
        lines: list[Line] = []
        if before > 0:
            lines.append([*side, Span(f"{look.mark('more')} {counted(before, 'line')} before", "dim")])
        # together: a name may go over the end of a line
        for text in hidden("\n".join(self._output.lines())).split("\n"):
            lines += folded([Span(text, "dim")], look.width, side, side)[:3]
        return lines

    def _note(self, event: Mapping[str, Any]) -> None:
        style = "warn" if event["type"] != "context" else "dim"
        self._line(event, event.get("body") or "", style)

    def _beside(self, event: Mapping[str, Any]) -> None:
        self._line(event, told_beside(event), "dim" if event["status"] == 200 else "warn")

    def _cached(self, event: Mapping[str, Any]) -> None:
        self._line(event, f"from the answer cache, {dollars(event['cost'])} ({one_line(event['body'], 120)})", "dim")

    def _sandbox(self, event: Mapping[str, Any]) -> None:
        self._line(event, f"NO SANDBOX{event['body'].removeprefix('no sandbox')}", "bad")

    def _step(self, event: Mapping[str, Any]) -> None:
        style = {"completed": "good", "failed": "bad", "cancelled": "warn", "skipped": "warn"}
        why = f": {event['body']}" if event.get("body") else ""
        self._line(event, f"step {event['action']}: {event['outcome']}{why}", style.get(event["outcome"], "dim"))

    def _server(self, event: Mapping[str, Any]) -> None:
        if event["status"] == 102:
            self._does(f"connecting to {one_line(event['action'], 80)}")
        else:
            self._line(event, event["body"], "dim" if event["status"] == 200 else "warn")

    def _line(self, event: Mapping[str, Any], text: str, style: str) -> None:
        self._rest()
        look = self._look()
        run = f"{event['run']} " if event.get("run") else ""
        self._add(folded([Span(run + one_line(text, 600), style)], look.width, rest=[Span("  ")]), "note")

    def _retry(self, event: Mapping[str, Any]) -> None:
        wait = f"{round(event['wait_s'], 1):g} s"
        self._begin_turn()
        self._does(f"try {event['failures'] + 1} in {wait}: {one_line(event['message'], 300)}")

    def _loop(self, event: Mapping[str, Any]) -> None:
        if event.get("run"):
            why = f": {event['body']}" if event.get("body") not in (None, "", event["outcome"]) else ""
            self._line(event, f"ended: {event['outcome']}{why}", "good" if event["status"] < 300 else "bad")
        else:
            self._rest()
            self._held = []
            if event["status"] == 204 and event.get("body"):  # another model or persona goes on
                self._line(event, str(event["body"]), "warn")

    def _doing(self, look: Look) -> Line:
        """What the run is at, and for how long."""
        wheel = _SPINNER[0 if look.unicode else 1]
        now = time.monotonic()
        spent = now - self._since
        long = f"  {seconds(spent)}" if spent >= 1 else ""
        room = max(look.width - 4 - len(long), 1)
        told = cut([Span(self.activity)], room, look.mark("more"))
        return [Span(f"{wheel[int(now * 8) % len(wheel)]} ", "info"), *told, Span(long, "dim")]


def _some(lines: list[Line], look: Look) -> list[Line]:
    """The lines of a change below its command; of a long one the first."""
    more = len(lines) - _FOLDED_DIFF
    kept = lines if more <= 1 else lines[:_FOLDED_DIFF]
    rest: list[Line] = [] if more <= 1 else [[Span(f"    {look.mark('more')} {counted(more, 'line')} more", "dim")]]
    return [*([Span("    "), *line] for line in kept), *rest]


__all__ = ["Facts", "Telling"]
