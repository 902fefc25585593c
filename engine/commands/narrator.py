"""Shows the progress of a run on stderr: a line for each turn and each command."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .printing import dollars, one_line, paint, say, visible

if TYPE_CHECKING:
    from rich.status import Status


class Narrator:
    """Prints the events of `engine.progress`; on a terminal a spinner turns while the model works."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._spinner: Status | None = None
        self._characters = 0
        self._tellers = {
            "turn": self._turn,
            "command": self._command,
            "error": self._command,
            "context": self._context,
            "strike": self._strike,
            "retry": self._retry,
            "output": self._output,
            "sandbox": self._sandbox,
        }

    def __enter__(self) -> Narrator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rest()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Print one event."""
        if event["type"] == "delta":
            self._delta(event)
            return
        self._rest()
        tell = self._tellers.get(event["type"])
        if tell:
            tell(event)

    def _turn(self, event: Mapping[str, Any]) -> None:
        used, ceiling = event.get("context_tokens") or 0, event.get("ceiling") or 0
        free = max(ceiling - used, 0)
        spent = "" if event.get("cost") == 0 else f", {dollars(event.get('cost'))}"
        say(f"[{event['turn']}]      {used:,} tokens used, {free:,} free{spent}", dim=True)
        if self._on_terminal:
            self._spin(f"turn {event['turn']}: the model is thinking")

    def _command(self, event: Mapping[str, Any]) -> None:
        status = event.get("status") or 500
        line = f"{event['action']} {one_line(event.get('target'), 80)}".rstrip()
        said = one_line(event.get("body"), 120) if status >= 400 else ""
        colour = "green" if status < 300 else "yellow" if event.get("outcome") in {"aborted", "cancelled"} else "red"
        painted = paint(str(status), colour, stream=sys.stderr)
        say(f"[{event.get('turn', '-')}] {painted}  {line}{f' - {said}' if said else ''}")

    def _context(self, event: Mapping[str, Any]) -> None:
        say(f"[{event['turn']}]      {event['action']}: {event['body']}", dim=True)

    def _sandbox(self, event: Mapping[str, Any]) -> None:
        say(f"NO SANDBOX{one_line(event['body'], 400).removeprefix('no sandbox')}", "red")

    def _strike(self, event: Mapping[str, Any]) -> None:
        say(f"[{event['turn']}]      {event['body']}", "yellow")

    def _retry(self, event: Mapping[str, Any]) -> None:
        say(
            f"the model failed ({one_line(event['message'])}); asking again in {round(event['wait_s'], 1):g} s",
            "yellow",
        )
        if self._on_terminal:
            self._spin("waiting for the model")

    def _output(self, event: Mapping[str, Any]) -> None:
        if self._on_terminal:
            for line in visible(event["text"]).removesuffix("\n").split("\n"):
                say(f"      | {line}", dim=True)

    def _delta(self, event: Mapping[str, Any]) -> None:
        self._characters += len(event["text"])
        if self._spinner:
            self._spinner.update(f"the model is writing, {self._characters:,} characters")

    def _spin(self, text: str) -> None:
        from rich.console import Console

        self._characters = 0
        self._spinner = Console(stderr=True, highlight=False).status(text)
        self._spinner.start()

    def _rest(self) -> None:
        if self._spinner:
            self._spinner.stop()
            self._spinner = None
