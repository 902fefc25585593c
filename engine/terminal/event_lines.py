"""`engine run --output stream-json`: the events of a prompt as lines of JSON on stdout, as `Database.stream` gives them.

spec: @run_output
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.stream_events import EndEvent, RefusedEvent, typed

from .printing import print_json_text

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Result
    from engine.events import Event
    from engine.stream_events import StreamEvent

_NEWEST = "select coalesce(max(id), 0) from events"


class EventLines:
    """Prints what a run tells: `begin`, then the events that it is called with, then `end`."""

    def __init__(self) -> None:
        self._db: Database | None = None
        self._run = ""

    def begin(self, db: Database, run: str, loop: int | None) -> None:
        """Tell that prompt number `loop` is driven; without a number the one that is open."""
        from engine.driving.results import start_event

        self._db, self._run = db, run
        self._print(start_event(db, run, loop))

    def __call__(self, event: Event) -> None:
        """Tell an event."""
        self._print(typed(event, self._run))

    def refuse(self, line: int, message: str, status: int) -> None:
        """Tell that a line of the input was not carried out."""
        self._print(RefusedEvent(id=self._newest(), run=self._run, line=line, status=status, message=message))

    def end(self, result: Result) -> None:
        """Tell how the prompt ended."""
        self._print(EndEvent(id=self._newest(), run=self._run, result=result))

    def _newest(self) -> int:
        return 0 if self._db is None else int(self._db.value(_NEWEST))

    def _print(self, event: StreamEvent) -> None:
        print_json_text(event.to_json())
