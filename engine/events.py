"""What a run does, as it is told to those who listen: one type for each kind of event.

spec: @on_event
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NotRequired, TypedDict


class _OfARun(TypedDict):
    """`run` is there where a run tells it that was delegated to; without it the run that is driven does."""

    run: NotRequired[str]


class TurnEvent(_OfARun):
    """The model is asked: with `context_tokens` of at most `ceiling`; `cost` is that of the run so far (US dollars)."""

    type: Literal["turn"]
    id: int
    turn: int
    context_tokens: NotRequired[int]
    ceiling: NotRequired[int]
    cost: NotRequired[float]


class TextEvent(_OfARun):
    """Prose of the model without markup. `text` continues the first `at` characters of the prose of `turn`."""

    type: Literal["text"]
    id: int
    turn: int
    at: int
    text: str


class DeltaEvent(_OfARun):
    """A piece of the response as the model writes it, with its markup."""

    type: Literal["delta"]
    id: int
    text: str


class CommandEvent(_OfARun):
    """A command has ended; `body` says what came of it, `path` is its entry."""

    type: Literal["command"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    status: int
    outcome: NotRequired[str]
    body: NotRequired[str]
    path: NotRequired[str]


class ErrorEvent(_OfARun):
    """An error without a command."""

    type: Literal["error"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    status: int
    outcome: NotRequired[str]
    body: NotRequired[str]
    path: NotRequired[str]


class AcceptanceEvent(_OfARun):
    """A result was checked by `target`, command or judge; `outcome` is pass, fail, error or interrupted."""

    type: Literal["acceptance"]
    id: int
    turn: int
    action: str
    target: str
    status: int
    outcome: str
    body: str
    path: str


class ContextEvent(_OfARun):
    """Old results are shown in short from now on."""

    type: Literal["context"]
    id: int
    turn: int
    action: str
    status: int
    body: str
    path: str


class StrikeEvent(_OfARun):
    """A turn that failed; `body` says which of how many."""

    type: Literal["strike"]
    id: int
    turn: int
    body: str


class ProposalEvent(_OfARun):
    """Something waits for a decision; `path` is what `resolve` takes."""

    type: Literal["proposal"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    status: int
    path: str


class BeginEvent(_OfARun):
    """A command begins to work in the world: a process, a page, a function, a file; `path` is its entry."""

    type: Literal["begin"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    path: str


class OutputEvent(_OfARun):
    """What a process prints; `channel` is 1 (stdout) or 2 (stderr)."""

    type: Literal["output"]
    id: int
    channel: int
    text: str


class RetryEvent(_OfARun):
    """The model failed and is asked again after `wait_s` seconds; delta and text start over."""

    type: Literal["retry"]
    id: int
    message: str
    failures: int
    wait_s: float


class SandboxEvent(_OfARun):
    """A shell command comes up and there is no sandbox for it; `body` says why, and what that means."""

    type: Literal["sandbox"]
    id: int
    status: int
    body: str


class EmbedderEvent(_OfARun):
    """What finds by meaning failed, so that tools are found by their words alone; `body` says why. It is told once a run."""

    type: Literal["embedder"]
    id: int
    turn: int
    status: int
    body: str


class RulesEvent(_OfARun):
    """The files that rules came from were read again, because they have changed; `body` says what became of the rules.

    `status` is 500 where one cannot be read any more, and the rules are those of before.
    """

    type: Literal["rules"]
    id: int
    turn: int
    status: int
    body: str


class CachedEvent(_OfARun):
    """The answer of a turn came from the answer cache, at no cost; `body` names the turn that it was given in before."""

    type: Literal["cached"]
    id: int
    turn: int
    cost: float
    status: int
    body: str


class ServerEvent(_OfARun):
    """An MCP server, `action`, was connected (`status` 200), was not (502), or is waited for (102); `body` says what it has,
    or why it failed.
    """

    type: Literal["server"]
    id: int
    action: str
    status: int
    body: str


class StepEvent(_OfARun):
    """A step of a workflow, `action`, is in another state: `outcome` is running, completed, failed, cancelled or skipped."""

    type: Literal["step"]
    id: int
    action: str
    outcome: str
    body: NotRequired[str]


class LoopEvent(_OfARun):
    """A prompt was queued or ended: `status` is that of its loop, `outcome` the word for it, `body` the reason."""

    type: Literal["loop"]
    id: int
    status: int
    outcome: str
    body: NotRequired[str]


Event = (
    TurnEvent
    | TextEvent
    | DeltaEvent
    | CommandEvent
    | ErrorEvent
    | AcceptanceEvent
    | ContextEvent
    | StrikeEvent
    | ProposalEvent
    | BeginEvent
    | OutputEvent
    | RetryEvent
    | SandboxEvent
    | EmbedderEvent
    | RulesEvent
    | CachedEvent
    | ServerEvent
    | StepEvent
    | LoopEvent
)
"""What a run does; `type` says which of them it is. `id` is the latest event of the file that was told, `run` the run below
the one that is driven that tells it."""

OnEvent = Callable[[Event], None]
