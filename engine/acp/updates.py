"""What a client is told while a run is driven: the events of the run as updates of its session.

spec: @acp_updates
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import schema

from engine.acp.texts import MOST_OUTPUT, end_of, fenced, prose, text_content
from engine.display.draft import Draft
from engine.display.escapes import drawn

from .tool_calls import Status, call_id, call_of, shown_call

if TYPE_CHECKING:
    from engine.db.database import Row, Store

Send = Callable[[Any], None]
"""Sends an update; it returns when the update is on its way."""

_REASONING = """
    select t.sequence, t.reasoning
    from turns as t
    join runs as r on r.id = t.run_id
    where r.alias = ? and t.sequence > ? and t.response is not null
    order by t.sequence
"""
_ANSWERED = """
    select coalesce(max(t.sequence), 0)
    from turns as t
    join runs as r on r.id = t.run_id
    where r.alias = ? and t.response is not null
"""
_PLAN = "select status, body, depth from plan_steps where run = ? and plan = ? order by line"
_PLAN_STATUS = {"in_progress": "in_progress", "done": "completed", "skipped": "completed"}
_QUIET = ("update", "think")
"""Commands that are told as what they say."""
_PAUSE_S = 0.05
"""Between two pieces of an answer."""
_TICK_CHARS = 1_000
"""An output is sent when it has grown by so much, or by a part of itself."""


def message(text: str) -> schema.AgentMessageChunk:
    """A piece of what the agent says."""
    return schema.AgentMessageChunk(
        session_update="agent_message_chunk", content=schema.TextContentBlock(type="text", text=prose(text))
    )


def thought(text: str) -> schema.AgentThoughtChunk:
    """A piece of what the agent thinks."""
    return schema.AgentThoughtChunk(
        session_update="agent_thought_chunk", content=schema.TextContentBlock(type="text", text=prose(text))
    )


def plan(db: Store, run: str, path: str) -> schema.AgentPlanUpdate:
    """The steps of a plan as the run sees them now; none where it was removed."""
    entries = [
        schema.PlanEntry(
            content=prose("  " * (row["depth"] - 1) + row["body"]),
            priority="medium",
            status=_PLAN_STATUS.get(row["status"], "pending"),  # type: ignore[arg-type]
        )
        for row in db.rows(_PLAN, (run, path))
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)


class Updates:
    """Tells the client of the session of `run` what happens; called by the thread that drives the run."""

    def __init__(self, db: Store, run: str, root: Path | None, send: Send) -> None:
        self._db = db
        self._run = run
        self._root = root
        self._send = send
        self._known: set[str] = set()
        self._turn = int(db.value(_ANSWERED, (run,)))
        self._draft = Draft()
        self._told = self._answer = ""
        self._spoke = False
        self._working: dict[str, Row] = {}
        self._output = ""
        self._sent_at = 0
        self._drafted = 0.0

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Tell of one event."""
        run = event.get("run", self._run)
        match event["type"]:
            case "turn" if run == self._run:
                self._begin_turn(event)
            case "delta" if run == self._run:
                self._draft.hear(event["text"])
                self._tell_draft(_PAUSE_S)
            case "text" if run == self._run:
                self._draft.tell(event["at"], event["text"])
                self._tell_draft(_PAUSE_S)
            case "retry":
                self._draft = Draft()
                self._send(thought(f"The model failed ({event['message']}); it is asked again.\n"))
            case "begin":
                self._begin(run, event)
            case "output":
                self._print(run, event["text"])
            case "proposal":
                self._tell_thoughts()
                self._call(run, event["path"])
            case "command":
                self._tell_thoughts()
                self._command(run, event)
            case "error" | "strike" | "context":
                self._tell_thoughts()
            case "sandbox" | "embedder":
                self._send(thought(f"{event['body']}\n"))
            case "server" if event["status"] == 102:
                self._send(thought(f"connecting to {event['action']}\n"))
            case "server" if event["status"] != 200:
                self._speak(event["body"])
            case "step":
                self._send(thought(f"step {event['action']}: {event['outcome']}\n"))

    def end(self, answer: str) -> None:
        """Tell what was not told while it arrived: the rest of the thoughts, and the answer."""
        self._tell_thoughts()
        text = prose(answer)
        if text.strip() and text.strip() not in (self._told.strip(), self._answer.strip()):
            rest = text[len(self._answer) :] if self._answer and text.startswith(self._answer) else None
            self._speak(text if rest is None else rest, goes_on=rest is not None)

    def call(self, run: str, path: str, **more: Any) -> schema.ToolCallUpdate | None:
        """The tool call of a command as it stands, for a question about it; None where there is no record of it."""
        row = call_of(self._db, run, path)
        return None if row is None else schema.ToolCallUpdate(**{**shown_call(row, self._run, self._root), **more})

    def _begin_turn(self, event: Mapping[str, Any]) -> None:
        self._tell_thoughts()
        self._draft, self._told, self._answer = Draft(), "", ""
        if event.get("ceiling"):
            cost = event.get("cost")
            self._send(
                schema.UsageUpdate(
                    session_update="usage_update",
                    used=event.get("context_tokens") or 0,
                    size=event["ceiling"],
                    cost=None if cost is None else schema.Cost(amount=cost, currency="USD"),
                )
            )

    def _tell_draft(self, pause_s: float = 0.0) -> None:
        """Send what prose and answer have more than was sent, unless something was within `pause_s`; what turns out to be
        other is said again.
        """
        if time.monotonic() - self._drafted < pause_s:
            return
        self._drafted = time.monotonic()
        self._told = self._tell_more(self._told, self._draft.prose)
        answer = self._draft.answer()
        if answer.strip() != self._told.strip():
            self._answer = self._tell_more(self._answer, answer)

    def _tell_more(self, told: str, text: str) -> str:
        if text.startswith(told):
            more = text[len(told) :]
        elif told.startswith(text):
            return told
        else:
            told, more = "", text
        if not more:
            return told
        self._speak(more, goes_on=bool(told))
        return text

    def _speak(self, text: str, *, goes_on: bool = False) -> None:
        """Send what the agent says; what does not go on begins a paragraph, where something stands before it."""
        self._send(message(f"\n\n{text}" if self._spoke and not goes_on else text))
        self._spoke = True

    def _tell_thoughts(self) -> None:
        """Send the rest of what was said, and what was thought of in the turns that were answered."""
        self._tell_draft()
        for row in self._db.rows(_REASONING, (self._run, self._turn)):
            self._turn = row["sequence"]
            if row["reasoning"]:
                self._send(thought(f"{row['reasoning']}\n"))

    def _begin(self, run: str, event: Mapping[str, Any]) -> None:
        self._tell_thoughts()
        self._output, self._sent_at = "", 0
        if event.get("path"):
            self._call(run, event["path"], "in_progress")

    def _print(self, run: str, text: str) -> None:
        """Send the end of what a command has printed so far; the more that is, the seldomer."""
        row = self._working.get(run)
        self._output = (self._output + text)[-2 * MOST_OUTPUT :]
        self._sent_at += len(text)
        if row is None or self._sent_at < min(len(self._output) // 4, _TICK_CHARS):
            return
        self._sent_at = 0
        shown = shown_call(row, self._run, self._root, "in_progress")
        content = [*(shown["content"] or [])[:1], text_content(fenced(end_of(drawn(self._output))))]
        self._send(
            schema.ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=shown["tool_call_id"],
                status="in_progress",
                content=content,
            )
        )

    def _command(self, run: str, event: Mapping[str, Any]) -> None:
        self._working.pop(run, None)
        path = event.get("path")
        if event["action"] in _QUIET:
            self._say(run, event)
        elif path:
            self._call(run, path)
        if (event.get("target") or "").startswith("plan://") and run == self._run:
            self._send(plan(self._db, run, event["target"]))

    def _say(self, run: str, event: Mapping[str, Any]) -> None:
        """Tell what is only said: a thought, or an update after which the run goes on."""
        if event.get("outcome") or not event.get("body") or run != self._run:
            return
        if event["action"] == "think":
            self._send(thought(f"{event['body']}\n"))
        elif event["status"] == 102:
            self._speak(event["body"])

    def _call(self, run: str, path: str, status: Status | None = None) -> None:
        """Send a command as it stands: a call that the client does not know yet, or what is new of one."""
        row = call_of(self._db, run, path)
        if row is None:
            return
        self._spoke = False
        fields, number = shown_call(row, self._run, self._root, status), call_id(row, self._run)
        if status == "in_progress":
            self._working[run] = row
        if number in self._known:
            self._send(schema.ToolCallProgress(session_update="tool_call_update", **fields))
        else:
            self._known.add(number)
            self._send(schema.ToolCallStart(session_update="tool_call", **fields))
