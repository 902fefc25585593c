"""The events of a stream as dataclasses, one for each type: `match` on them is exhaustive.

The classes are made of the dicts in `engine/events.py` (`make spec`), so both say the same. `id` is that of the latest event
of the file that was told, `run` the run that tells the event: the one that the stream drives, or one below it.

spec: @typed_events
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

if TYPE_CHECKING:
    from .contract import Result
    from .events import StreamDict


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What all events have."""

    type: ClassVar[str]
    id: int
    run: str

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON has it: its type, and its keys that have a value."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        if isinstance(self, EndEvent):
            told["result"] = json.loads(self.result.to_json())
        return {"type": self.type, **{key: value for key, value in told.items() if value is not None}}

    def to_json(self) -> str:
        """The event as a line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


# [[[cog
# import cog
# from tests import made_events
# cog.out(made_events.classes())
# ]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEvent(Told):
    """The first event of a stream: prompt number `loop` of `run` is driven, and `model` answers.

    `version` is that of the events: it grows when a key is removed or changes its meaning, not when one is added.
    """

    type: ClassVar[Literal["start"]] = "start"
    version: int
    loop: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvent(Told):
    """The model is asked: with `context_tokens` of at most `ceiling`; `cost` is that of the run so far (US dollars)."""

    type: ClassVar[Literal["turn"]] = "turn"
    turn: int
    context_tokens: int | None = None
    ceiling: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEvent(Told):
    """Prose of the model without markup: `text` replaces all behind the first `at` characters of the turn's prose."""

    type: ClassVar[Literal["text"]] = "text"
    turn: int
    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaEvent(Told):
    """A piece of the response while it arrives, with its markup."""

    type: ClassVar[Literal["delta"]] = "delta"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialEvent(Told):
    """The answer in the form that was asked for, as far as the model has written it: `output` is its JSON so far."""

    type: ClassVar[Literal["partial"]] = "partial"
    turn: int
    output: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtEvent(Told):
    """A piece of what the model thinks before it answers, as it arrives, or all of it where the model tells it at once."""

    type: ClassVar[Literal["thought"]] = "thought"
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent(Told):
    """A native call while the model writes it: `text` is the next piece of the JSON of its arguments.

    `call` numbers the calls of an answer from 0. A call that was performed is told as `command`.
    """

    type: ClassVar[Literal["call"]] = "call"
    turn: int
    call: int
    tool: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEvent(Told):
    """A command has ended; `body` says what came of it, `path` is its entry."""

    type: ClassVar[Literal["command"]] = "command"
    turn: int | None = None
    action: str
    target: str | None = None
    status: int
    outcome: str | None = None
    body: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent(Told):
    """An error without a command."""

    type: ClassVar[Literal["error"]] = "error"
    turn: int | None = None
    action: str
    target: str | None = None
    status: int
    outcome: str | None = None
    body: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceEvent(Told):
    """A result was checked by `target`, command or judge. `outcome` is the verdict: pass, fail, error or interrupted.

    `status` is 200, 422, 500 if the check failed, or 499 if it was interrupted; `body` says why.
    """

    type: ClassVar[Literal["acceptance"]] = "acceptance"
    turn: int
    action: str
    target: str
    status: int
    outcome: str
    body: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEvent(Told):
    """What the run edited was committed to git (`status` 200), or was not (409); `body` says what, and why."""

    type: ClassVar[Literal["commit"]] = "commit"
    turn: int | None = None
    action: str
    target: str | None = None
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent(Told):
    """The hook `target`, asked at the point `action`, refused (`status` 403) or failed itself (500); `body` says why."""

    type: ClassVar[Literal["hook"]] = "hook"
    turn: int
    action: str
    target: str
    status: int
    outcome: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEvent(Told):
    """Old results are summarized from now on."""

    type: ClassVar[Literal["context"]] = "context"
    turn: int
    action: str
    status: int
    body: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrikeEvent(Told):
    """A turn that failed; `body` says which of how many, and whether it is a cycle."""

    type: ClassVar[Literal["strike"]] = "strike"
    turn: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEvent(Told):
    """Something waits for a decision (`status` 202); `path` is what `resolve` takes."""

    type: ClassVar[Literal["proposal"]] = "proposal"
    turn: int | None = None
    action: str
    target: str | None = None
    status: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginEvent(Told):
    """A command begins to work in the world: a process, a page, a function, a file; `path` is its entry."""

    type: ClassVar[Literal["begin"]] = "begin"
    turn: int | None = None
    action: str
    target: str | None = None
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent(Told):
    """A function of the app says how far it has come (`context.tell`); `path` is the entry of its command."""

    type: ClassVar[Literal["progress"]] = "progress"
    turn: int | None = None
    action: str
    target: str | None = None
    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEvent(Told):
    """What a process prints; `channel` is 1 (stdout) or 2 (stderr).

    The method `output` follows a command in the background.
    """

    type: ClassVar[Literal["output"]] = "output"
    channel: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEvent(Told):
    """The model failed and is asked again after `wait_s` seconds; deltas, thoughts and text start over."""

    type: ClassVar[Literal["retry"]] = "retry"
    message: str
    failures: int
    wait_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxEvent(Told):
    """A shell command comes up and there is no sandbox for it (`status` 403); `body` says why, and what that means."""

    type: ClassVar[Literal["sandbox"]] = "sandbox"
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderEvent(Told):
    """Search by meaning failed (`status` 500), so tools are found by their words alone; `body` says why. Told once a run."""

    type: ClassVar[Literal["embedder"]] = "embedder"
    turn: int
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesEvent(Told):
    """Files with rules have changed and were read again; `body` says what became of the rules.

    `status` is 200, or 500 if a file cannot be read any more; the rules are those of before then.
    """

    type: ClassVar[Literal["rules"]] = "rules"
    turn: int
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedEvent(Told):
    """The answer of a turn came from the answer cache; `body` names the turn that it was given in before."""

    type: ClassVar[Literal["cached"]] = "cached"
    turn: int
    cost: float
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent(Told):
    """The MCP server `action` is connected (`status` 200), is not (502), or is waited for (102).

    `body` says what the server has, or why it failed.
    """

    type: ClassVar[Literal["server"]] = "server"
    action: str
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Told):
    """A step of a workflow, `action`, is in another state: `outcome` is running, completed, failed, cancelled or skipped."""

    type: ClassVar[Literal["step"]] = "step"
    action: str
    outcome: str
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvent(Told):
    """A prompt was queued or ended: `status` is that of its loop, `outcome` the word for it, `body` the reason."""

    type: ClassVar[Literal["loop"]] = "loop"
    status: int
    outcome: str
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedEvent(Told):
    """Line number `line` of the input of `engine run --input stream-json` was not carried out; `message` says why."""

    type: ClassVar[Literal["refused"]] = "refused"
    line: int
    status: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent(Told):
    """The last event of a stream: `result` is what `run` would have returned; in JSON it is an object.

    With `result.status` 202 the run waits for a decision.
    """

    type: ClassVar[Literal["end"]] = "end"
    result: Result


_CLASSES: dict[str, Any] = {
    "start": StartEvent,
    "turn": TurnEvent,
    "text": TextEvent,
    "delta": DeltaEvent,
    "partial": PartialEvent,
    "thought": ThoughtEvent,
    "call": CallEvent,
    "command": CommandEvent,
    "error": ErrorEvent,
    "acceptance": AcceptanceEvent,
    "commit": CommitEvent,
    "hook": HookEvent,
    "context": ContextEvent,
    "strike": StrikeEvent,
    "proposal": ProposalEvent,
    "begin": BeginEvent,
    "progress": ProgressEvent,
    "output": OutputEvent,
    "retry": RetryEvent,
    "sandbox": SandboxEvent,
    "embedder": EmbedderEvent,
    "rules": RulesEvent,
    "cached": CachedEvent,
    "server": ServerEvent,
    "step": StepEvent,
    "loop": LoopEvent,
    "refused": RefusedEvent,
    "end": EndEvent,
}

StreamEvent = (
    StartEvent
    | TurnEvent
    | TextEvent
    | DeltaEvent
    | PartialEvent
    | ThoughtEvent
    | CallEvent
    | CommandEvent
    | ErrorEvent
    | AcceptanceEvent
    | CommitEvent
    | HookEvent
    | ContextEvent
    | StrikeEvent
    | ProposalEvent
    | BeginEvent
    | ProgressEvent
    | OutputEvent
    | RetryEvent
    | SandboxEvent
    | EmbedderEvent
    | RulesEvent
    | CachedEvent
    | ServerEvent
    | StepEvent
    | LoopEvent
    | RefusedEvent
    | EndEvent
)
# [[[end]]]


def typed(event: StreamDict, run: str) -> StreamEvent:
    """The event of a dict that is told of `run` or, where it says so, of a run below it."""
    keys: Mapping[str, Any] = event
    told = {"run": run, **{key: value for key, value in keys.items() if key != "type"}}
    return cast("StreamEvent", _CLASSES[event["type"]](**told))
