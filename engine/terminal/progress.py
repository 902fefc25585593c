"""Shows the progress of a run on stderr: a line for each turn and each command.

At a terminal what the model writes and what processes print is shown while it comes, folded to its last lines.

spec: @live_progress
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from engine.display.draft import Draft
from engine.display.statuses import result_word
from engine.functions.counts import counted

from .live_area import LAST_LINES, Area, LastLines
from .printing import dollars, one_line, paint, say, shown_path, visible
from .wrapping import wrapped

_INDENT = "    "
_PRINTING = ("sh", "env")
"""Commands behind whose line their output is shown; that of others is shown before the next turn."""


class Narrator:
    """Prints the events of `engine.driving.progress`; on a terminal a spinner turns while the model works."""

    def __init__(self, words: Mapping[int, str]) -> None:
        """`words` has the word for each status, as `status_words` gives them."""
        self._words = words
        self._area = Area() if sys.stderr.isatty() else None
        self._draft = Draft()
        self._speaker = ""
        self._closing = ""
        self._output = LastLines()
        self._tellers = {
            "turn": self._turn,
            "command": self._command,
            "error": self._command,
            "acceptance": self._command,
            "context": self._context,
            "strike": self._strike,
            "retry": self._retry,
            "sandbox": self._sandbox,
            "embedder": self._embedder,
            "rules": self._embedder,
            "cached": self._cached,
            "step": self._step,
            "server": self._server,
        }

    def __enter__(self) -> Narrator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rest()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Print one event."""
        if run := event.get("run"):
            self._tell_child(run, event)
            return
        match event["type"]:
            case "delta":
                self._hear(event["text"])
            case "text":
                self._draft.tell(event["at"], event["text"])
            case "output":
                self._print(event["text"])
            case kind:
                self._rest()
                if kind in self._tellers:
                    self._tellers[kind](event)

    def answered(self) -> None:
        """Forget the answer of a prompt, which somebody else prints."""
        self._rest()
        self._closing, self._draft = "", Draft()

    def _tell_child(self, run: str, event: Mapping[str, Any]) -> None:
        """Print what a run does that was delegated to, behind its name; what it writes meanwhile is not shown."""
        self._rest()  # the parent's model has said what it had to
        if event["type"] in ("command", "error", "strike", "retry", "sandbox", "embedder", "rules", "cached", "loop"):
            self._speaker = f"{run} "
            (self._ended if event["type"] == "loop" else self._tellers[event["type"]])(event)
            self._speaker = ""

    def _ended(self, event: Mapping[str, Any]) -> None:
        why = f": {one_line(event['body'], 120)}" if event.get("body") not in (None, "", event["outcome"]) else ""
        say(f"{self._speaker}ended: {event['outcome']}{why}", "green" if event["status"] < 300 else "red")

    def _turn(self, event: Mapping[str, Any]) -> None:
        used, ceiling = event.get("context_tokens") or 0, event.get("ceiling") or 0
        free = max(ceiling - used, 0)
        spent = "" if event.get("cost") == 0 else f", {dollars(event.get('cost'))}"
        self._tell_output()
        self._tell_closing()
        for line in wrapped(
            f"{used:,} tokens used, {free:,} free{spent}", self._width, f"[{event['turn']}]      ", _INDENT
        ):
            say(line, dim=True)
        self._draft = Draft()
        if self._area:
            self._area.show(f"turn {event['turn']}: the model is thinking")

    def _command(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "command":
            self._tell_prose()
        status, outcome = event.get("status") or 500, event.get("outcome") or ""
        target = one_line(shown_path(event.get("target") or ""), 80)
        if _closes(event) and not self._speaker:
            self._closing, target = target, ""  # it is printed whole below, unless another turn follows
        line = f"{event['action']} {target}".rstrip()
        said = one_line(event.get("body"), 120) if status >= 400 and not outcome.startswith("exit:") else ""
        colour = "green" if status < 300 else "yellow" if outcome in {"aborted", "cancelled"} else "red"
        result = result_word(self._words, status, outcome)
        head = f"{self._speaker}[{event.get('turn', '-')}] "
        told = f"{line}{f' - {said}' if said else ''}"
        lines = wrapped(told, self._width, f"{head}{result}  " if result else head, _INDENT)
        say(head + paint(result, colour, stream=sys.stderr) + lines[0][len(head) + len(result) :])
        for rest in lines[1:]:
            say(rest)
        if event["action"] in _PRINTING:
            self._tell_output()

    def _context(self, event: Mapping[str, Any]) -> None:
        say(f"[{event['turn']}]      {event['action']}: {event['body']}", dim=True)

    def _sandbox(self, event: Mapping[str, Any]) -> None:
        say(f"NO SANDBOX{one_line(event['body'], 400).removeprefix('no sandbox')}", "red")

    def _embedder(self, event: Mapping[str, Any]) -> None:
        say(f"{self._speaker}[{event['turn']}]      {one_line(event['body'], 400)}", "yellow")

    def _cached(self, event: Mapping[str, Any]) -> None:
        came = one_line(event["body"], 120)
        say(f"{self._speaker}[{event['turn']}]      from the answer cache, {dollars(event['cost'])} ({came})", dim=True)

    def _step(self, event: Mapping[str, Any]) -> None:
        why = f": {one_line(event['body'], 200)}" if event.get("body") else ""
        colour = {"completed": "green", "failed": "red", "cancelled": "yellow", "skipped": "yellow"}
        state = paint(event["outcome"], colour.get(event["outcome"]), stream=sys.stderr)
        say(f"step {visible(event['action'])}: {state}{why}")

    def _server(self, event: Mapping[str, Any]) -> None:
        if event["status"] == 102:
            if self._area:
                self._area.show(f"connecting to {one_line(event['action'], 80)}")
            else:
                say(f"connecting to {one_line(event['action'], 80)}", dim=True)
            return
        good = event["status"] == 200
        say(one_line(event["body"], 600), None if good else "yellow", dim=good)

    def _strike(self, event: Mapping[str, Any]) -> None:
        say(f"{self._speaker}[{event['turn']}]      {event['body']}", "yellow")

    def _retry(self, event: Mapping[str, Any]) -> None:
        self._draft = Draft()
        wait = f"{round(event['wait_s'], 1):g} s"
        if self._area and not self._speaker:
            # one line, which the next one takes the place of
            self._area.show(f"try {event['failures'] + 1} in {wait}: {one_line(event['message'], 300)}")
            return
        say(f"{self._speaker}the model failed ({one_line(event['message'])}); asking again in {wait}", "yellow")

    def _hear(self, text: str) -> None:
        self._draft.hear(text)
        if self._area:
            self._area.show(f"the model is writing, {counted(self._draft.characters, 'character')}", self._draft)

    def _print(self, text: str) -> None:
        self._output.add(text)
        if self._area:
            count = self._output.count
            self._area.show(f"a command runs, {count:,} line{'' if count == 1 else 's'}", self._output)

    def _tell_prose(self) -> None:
        """Print what the model said before the first of its commands; the answer itself is for stdout."""
        prose, self._draft = self._draft.prose.strip("\n"), Draft()
        if prose and self._area:
            for line in wrapped(visible(prose), self._width, _INDENT, _INDENT):
                say(line)

    def _tell_closing(self) -> None:
        """Print the answer after which the run went on: that of a prompt before, or one that was not accepted."""
        closing, self._closing = self._closing, ""
        for line in wrapped(closing, self._width, _INDENT, _INDENT) if closing else ():
            say(line)

    def _tell_output(self) -> None:
        """Print the last lines of what a command printed."""
        output, self._output = self._output, LastLines()
        if not self._area:
            return
        before = output.count - LAST_LINES
        if before > 0:
            say(f"{_INDENT}… {before:,} line{'' if before == 1 else 's'} before", dim=True)
        for shown in output.lines():
            for line in wrapped(shown, self._width, f"{_INDENT}| ", f"{_INDENT}| "):
                say(line, dim=True)

    @property
    def _width(self) -> int | None:
        return shutil.get_terminal_size().columns if self._area else None

    def _rest(self) -> None:
        if self._area:
            self._area.hide()


def _closes(event: Mapping[str, Any]) -> bool:
    """Whether the event is an update that ends its prompt."""
    return event["action"] == "update" and not event.get("outcome") and event.get("status") != 102
