"""What clients are told of a run: events of the run as notifications, and its state when that has changed."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row
    from engine.events import Event

    from .hub import Hub

_STATES_APART_S = 0.2
"""At least so long lies between two states of a run: each has the whole history."""
_WARNINGS = {
    "sandbox": "warning",
    "embedder": "warning",
    "rules": "info",
    "strike": "warning",
    "context": "info",
    "cached": "info",
}
"""The events that a person is told of in words, by how grave they are."""
_SAID = ("turn", "type", "action", "target", "status", "outcome", "path")
"""What a command, an error or the like says of itself; its text is in the state."""
_PROPOSAL = "select * from open_proposals where run = ? and path = ?"


class Teller:
    """Tells the clients of the folder `root` what happens in a run behind the event with the id `last`.

    While it is entered it tells the state of the run after changes, and in the end that after the last one.
    """

    def __init__(self, hub: Hub, run: str, root: str | None, last: int) -> None:
        self.last = last
        self._hub, self._run, self._root = hub, run, root
        self._changed = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._telling = asyncio.create_task(self._tell_states())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._telling is not None, "it was entered"
        self._telling.cancel()
        with suppress(asyncio.CancelledError):
            await self._telling
        if error is None and self._changed.is_set():
            await self._tell_state()

    def told(self, event: Event) -> None:
        """Pass on an event of the run."""
        self.last = max(self.last, event["id"])
        if event["type"] == "text":
            self._tell("ui/render", turn=event["turn"], at=event["at"], text=event["text"])
        elif event["type"] == "output":
            self._tell("ui/render", channel=event["channel"], text=event["text"])
        elif event["type"] == "retry":
            waits = {"message": event["message"], "failures": event["failures"], "waitS": event["wait_s"]}
            self._tell("run/progress", status="retrying", **waits)
        else:
            self._stored(event)
            self._changed.set()

    def _stored(self, event: Event) -> None:
        """Pass on an event that changes the state of the run; of the end of a prompt the state says it."""
        if event["type"] == "turn":
            self._tell("run/progress", status="thinking", turn=event["turn"])
        elif event["type"] == "proposal":
            self._proposal(event["path"])
        elif event["type"] in _WARNINGS:
            self._tell("ui/notify", level=_WARNINGS[event["type"]], text=str(event.get("body") or event["type"]))
        elif event["type"] != "loop":
            said = {name: value for name, value in event.items() if name in _SAID}
            self._tell("run/progress", status="processing", event=said)

    def _proposal(self, path: str) -> None:
        found = self._hub.db.row(_PROPOSAL, (self._run, path))
        if found is not None:  # else it was decided by now
            self._tell("run/proposal", **proposal_of(found))

    def _tell(self, method: str, **params: Any) -> None:
        self._hub.tell(self._root, method, {"run": self._run, **params})

    async def _tell_states(self) -> None:
        while True:
            await self._changed.wait()
            await self._tell_state()
            await asyncio.sleep(_STATES_APART_S)

    async def _tell_state(self) -> None:
        self._changed.clear()
        try:
            state = await self._hub.db.call_async(lambda db: state_of(db, self._run))
        except asyncio.CancelledError:
            self._changed.set()  # it was not told
            raise
        if state is not None:  # else it was purged
            self._hub.tell(self._root, "run/state", state)


def state_of(db: Database, run: str) -> dict[str, Any] | None:
    """A row of `run_state` with its JSON as values; None where there is no such run."""
    row = db.row("select * from run_state where run = ?", (run,))
    return row and row | {name: json.loads(row[name]) for name in ("history", "unknowns", "telemetry")}


def proposal_of(row: Row) -> dict[str, Any]:
    """A row of `open_proposals` with its JSON as values, without what is null."""
    values = row | {name: json.loads(row[name]) for name in ("instructions", "options") if row[name]}
    return {name: value for name, value in values.items() if value is not None and name != "run"}
