"""Tells the progress of a run on stderr where that is no terminal: a line for each turn and each command.

spec: @live_progress
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from engine.display.statuses import result_word, told_beside

from .printing import dollars, one_line, paint, say, shown_path, visible
from .wrapping import wrapped

_INDENT = "    "

_OF_CHILDREN = frozenset(
    ["command", "error", "strike", "retry", "sandbox", "embedder", "rules", "cached", "loop", "commit", "hook"]
)
"""What is told of a run that was delegated to."""


class Narrator:
    """Prints the events of `engine.driving.progress`, line by line."""

    def __init__(self, words: Mapping[int, str]) -> None:
        """`words` has the word for each status, as `status_words` gives them."""
        self._words = words
        self._speaker = ""
        self._closing = ""
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
            "commit": self._beside,
            "hook": self._beside,
            "loop": self._goes_on,
        }

    def __enter__(self) -> Narrator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to do."""

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Print one event."""
        if run := event.get("run"):
            self._tell_child(run, event)
            return
        if tell := self._tellers.get(event["type"]):
            tell(event)

    def hide(self) -> None:
        """Forget the answer of a prompt, which somebody else prints; nothing moves here that could be in the way."""
        self._closing = ""

    def has_drawn(self, answer: str) -> bool:  # noqa: ARG002 - as Screen
        """No answer is drawn here."""
        return False

    def _tell_child(self, run: str, event: Mapping[str, Any]) -> None:
        """Print what a run does that was delegated to, behind its name; what it writes meanwhile is not shown."""
        if event["type"] in _OF_CHILDREN:
            self._speaker = f"{run} "
            (self._ended if event["type"] == "loop" else self._tellers[event["type"]])(event)
            self._speaker = ""

    def _ended(self, event: Mapping[str, Any]) -> None:
        why = f": {one_line(event['body'], 120)}" if event.get("body") not in (None, "", event["outcome"]) else ""
        say(f"{self._speaker}ended: {event['outcome']}{why}", "green" if event["status"] < 300 else "red")

    def _goes_on(self, event: Mapping[str, Any]) -> None:
        """Say that another model or persona goes on with the prompt."""
        if event["status"] == 204 and event.get("body"):
            say(one_line(event["body"], 400), "yellow")

    def _turn(self, event: Mapping[str, Any]) -> None:
        used, ceiling = event.get("context_tokens") or 0, event.get("ceiling") or 0
        free = max(ceiling - used, 0)
        spent = "" if event.get("cost") == 0 else f", {dollars(event.get('cost'))}"
        self._tell_closing()
        say(f"[{event['turn']}]      {used:,} tokens used, {free:,} free{spent}", dim=True)

    def _command(self, event: Mapping[str, Any]) -> None:
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
        say(f"{head}{paint(result, colour, stream=sys.stderr)}{'  ' if result else ''}{told}")

    def _context(self, event: Mapping[str, Any]) -> None:
        say(f"[{event['turn']}]      {event['action']}: {event['body']}", dim=True)

    def _beside(self, event: Mapping[str, Any]) -> None:
        good = event["status"] == 200
        say(f"{self._speaker}{one_line(told_beside(event), 600)}", None if good else "yellow", dim=good)

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
            say(f"connecting to {one_line(event['action'], 80)}", dim=True)
            return
        good = event["status"] == 200
        say(one_line(event["body"], 600), None if good else "yellow", dim=good)

    def _strike(self, event: Mapping[str, Any]) -> None:
        say(f"{self._speaker}[{event['turn']}]      {event['body']}", "yellow")

    def _retry(self, event: Mapping[str, Any]) -> None:
        wait = f"{round(event['wait_s'], 1):g} s"
        say(f"{self._speaker}the model failed ({one_line(event['message'])}); asking again in {wait}", "yellow")

    def _tell_closing(self) -> None:
        """Print the answer after which the run went on: that of a prompt before, or one that was not accepted."""
        closing, self._closing = self._closing, ""
        for line in wrapped(closing, None, _INDENT, _INDENT) if closing else ():
            say(line)


def _closes(event: Mapping[str, Any]) -> bool:
    """Whether the event is an update that ends its prompt."""
    return event["action"] == "update" and not event.get("outcome") and event.get("status") != 102
