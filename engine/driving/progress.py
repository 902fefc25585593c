"""Reports what a run does while it is driven. Without a listener nothing is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from engine.errors import Conflict
from engine.functions.typed_answers.partial import NOTHING
from engine.models.protocol import CallPiece, Thought

from .prose import Answer, Teller, arrives, tool_names

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.events import Event, OnEvent
    from engine.handle import Handle
    from engine.models.protocol import ModelError

Told = TypeVar("Told")
Given = TypeVar("Given")

_BEGUN = """
    select t.sequence as turn, c.action, coalesce(c.path, c.body) as target, c.log_path as path
    from effects as f
    join commands as c on c.id = f.command_id
    left join turns as t on t.id = c.turn_id
    where f.id = ?
"""


_HAS_FORM = """
    select 1
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = ? and l.status = 102 and l.config ->> '$.output' is not null
"""
_THOUGHTS = "select reasoning from turns where id = ?"


class Progress:
    """Passes the events of `engine.contract.Event` to `on_event`, and keeps the answer that arrives for who follows the run.

    The id of an event that is not in the file is that of the latest one that is.
    """

    def __init__(self, db: Handle, run: str, on_event: OnEvent | None) -> None:
        self._db = db
        self._run = run
        self._on_event = on_event
        self._last = db.value("select coalesce(max(id), 0) from events") if on_event else 0
        self._tools = tool_names(db) if on_event else "[]"
        self._answer: Answer | None = None
        self._has_thought = self._has_form = False
        self._partial: Any = NOTHING
        self._teller = Teller()

    def tell(self) -> None:
        """Pass on the rows of `run_progress` that were committed since the last call."""
        if self._on_event is None:
            return
        for row in self._db.rows(
            "select * from run_progress where run = ? and event_id > ? order by event_id",
            (self._run, self._last),
        ):
            self._last = row["event_id"]
            self._on_event(stored_event(row))

    def connecting(self, servers: list[str]) -> None:
        """Tell that it is waited for MCP servers."""
        if self._on_event is not None:
            names = ", ".join(servers)
            self._on_event({"type": "server", "id": self._last, "action": names, "status": 102, "body": "connecting"})

    @contextmanager
    def answering(self, turn: int) -> Iterator[None]:
        """While the model answers in `turn`."""
        self._answer, self._has_thought, self._partial = Answer(turn), False, NOTHING
        self._has_form = bool(self._on_event and self._db.value(_HAS_FORM, (self._run,)))
        try:
            arrives(self._db.place, self._run, self._answer)
            yield
        finally:
            arrives(self._db.place, self._run, None)

    def delta(self, text: str) -> None:
        """Pass on a piece of the response while it arrives."""
        assert self._answer is not None, "the model answers"
        if isinstance(text, Thought):
            self._think(text)
            return
        if isinstance(text, CallPiece):
            self._call(text)
            return
        self._answer.hear(text)
        if self._on_event is not None:
            self._on_event({"type": "delta", "id": self._last, "text": text})
            self._tell_prose(self._answer.prose(self._tools))
            if self._has_form:
                self._tell_partial()

    def answered(self, turn_id: int) -> None:
        """Pass on the thoughts and the prose of a stored response, as far as they were not told while they arrived."""
        if self._on_event is not None:
            if not self._has_thought and (thoughts := self._db.value(_THOUGHTS, (turn_id,))):
                self._think(thoughts)
            prose = self._db.value("select prose from _response_prose where turn_id = ?", (turn_id,))
            self._tell_prose(prose or "")  # a turn that another process has removed has none

    def began(self, effect_id: int) -> None:
        """Pass on that a command begins to work in the world."""
        if self._on_event is not None and (row := self._db.row(_BEGUN, (effect_id,))):
            told = {key: value for key, value in row.items() if value is not None}
            self._on_event(cast("Event", {"type": "begin", "id": self._last, **told}))

    def progress(self, effect_id: int, text: str) -> None:
        """Pass on how far a function has come."""
        if self._on_event is not None and (row := self._db.row(_BEGUN, (effect_id,))):
            told = {key: value for key, value in row.items() if value is not None}
            self._on_event(cast("Event", {"type": "progress", "id": self._last, **told, "text": text}))

    def output(self, channel: int, text: str) -> None:
        """Pass on what a process prints."""
        if self._on_event is not None:
            self._on_event({"type": "output", "id": self._last, "channel": channel, "text": text})

    def retry(self, error: ModelError, failures: int, wait_s: float) -> None:
        """Pass on that the model failed and is asked again after `wait_s` seconds."""
        assert self._answer is not None, "the model answers"
        self._answer.start_over()
        self._has_thought = False
        if self._on_event is not None:
            self._on_event(
                {
                    "type": "retry",
                    "id": self._last,
                    "message": error.message,
                    "failures": failures,
                    "wait_s": wait_s,
                }
            )

    def _think(self, text: str) -> None:
        """Pass on a piece of what the model thinks."""
        assert self._answer is not None, "the model answers"
        self._has_thought = True
        if self._on_event is not None:
            self._on_event({"type": "thought", "id": self._last, "turn": self._answer.turn, "text": str(text)})

    def _call(self, piece: CallPiece) -> None:
        """Pass on a piece of a native call."""
        assert self._answer is not None, "the model answers"
        self._answer.hear_call(piece)
        if self._on_event is not None:
            told = {"turn": self._answer.turn, "call": piece.call, "tool": piece.tool, "text": str(piece)}
            self._on_event(cast("Event", {"type": "call", "id": self._last, **told}))
            if self._has_form:
                self._tell_partial()

    def _tell_partial(self) -> None:
        """Pass on the answer of a form, as far as it is there and was not told."""
        assert self._answer is not None, "the model answers"
        assert self._on_event is not None, "somebody listens"
        output = self._answer.partial()
        if output is not NOTHING and output != self._partial:
            self._partial = output
            self._on_event({"type": "partial", "id": self._last, "turn": self._answer.turn, "output": output})

    def _tell_prose(self, prose: str) -> None:
        assert self._on_event is not None, "somebody listens"
        assert self._answer is not None, "the model answers"
        for event in self._teller.more(self._answer.turn, prose, self._last):
            self._on_event(event)


def stored_event(row: Row) -> Event:
    """A row of `run_progress` as an event, without what has no value."""
    event = {"id": row["event_id"], **row}
    return cast(
        "Event", {k: v for k, v in event.items() if v is not None and k not in ("event_id", "run", "created_at")}
    )


def watched(db: Handle, callback: Callable[[Told], Given] | None) -> Callable[[Told], Given] | None:
    """`callback` of a driven run. A transaction that it leaves open is rolled back, and `Conflict` (409) is raised.

    The run would be driven inside that transaction: what it does in the world could not be rolled back with it.
    """
    if callback is None:
        return None

    def call(told: Told) -> Given:
        answer = callback(told)
        if db.in_transaction:
            db.execute("rollback")
            name = getattr(callback, "__name__", type(callback).__name__)
            raise Conflict(
                f"{db.path}: {name} did not commit its transaction, which was rolled back; commit before {name} returns"
            )
        return answer

    return call
