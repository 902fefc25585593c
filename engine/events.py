"""What a run does, as it is told to those who listen: one type for each kind of event.

This is the one place where events are described. `make spec` makes the classes of `engine.stream_events` and the table in
SPEC.md of it.

spec: @on_event
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from engine.contract import Result


class _OfARun(TypedDict):
    """`run` is there where a run tells it that was delegated to; without it the run that is driven does."""

    run: NotRequired[str]


class StartDict(_OfARun):
    """The first event of a stream: prompt number `loop` of `run` is driven, and `model` answers.

    `version` is that of the events: it grows when a key is removed or changes its meaning, not when one is added.
    """

    type: Literal["start"]
    id: int
    version: int
    loop: int
    model: str


class TurnDict(_OfARun):
    """The model is asked: with `context_tokens` of at most `ceiling`; `cost` is that of the run so far (US dollars)."""

    type: Literal["turn"]
    id: int
    turn: int
    context_tokens: NotRequired[int]
    ceiling: NotRequired[int]
    cost: NotRequired[float]


class TextDict(_OfARun):
    """Prose of the model without markup: `text` replaces all behind the first `at` characters of the turn's prose."""

    type: Literal["text"]
    id: int
    turn: int
    at: int
    text: str


class DeltaDict(_OfARun):
    """A piece of the response while it arrives, with its markup."""

    type: Literal["delta"]
    id: int
    text: str


class PartialDict(_OfARun):
    """The answer in the form that was asked for, as far as the model has written it: `output` is its JSON so far."""

    type: Literal["partial"]
    id: int
    turn: int
    output: Any


class ThoughtDict(_OfARun):
    """A piece of what the model thinks before it answers, as it arrives, or all of it where the model tells it at once."""

    type: Literal["thought"]
    id: int
    turn: int
    text: str


class CallDict(_OfARun):
    """A native call while the model writes it: `text` is the next piece of the JSON of its arguments.

    `call` numbers the calls of an answer from 0. A call that was performed is told as `command`.
    """

    type: Literal["call"]
    id: int
    turn: int
    call: int
    tool: str
    text: str


class CommandDict(_OfARun):
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


class ErrorDict(_OfARun):
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


class AcceptanceDict(_OfARun):
    """A result was checked by `target`, command or judge. `outcome` is the verdict: pass, fail, error or interrupted.

    `status` is 200, 422, 500 if the check failed, or 499 if it was interrupted; `body` says why.
    """

    type: Literal["acceptance"]
    id: int
    turn: int
    action: str
    target: str
    status: int
    outcome: str
    body: str
    path: str


class CommitDict(_OfARun):
    """What the run edited was committed to git (`status` 200), or was not (409); `body` says what, and why."""

    type: Literal["commit"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    status: int
    body: str


class HookDict(_OfARun):
    """The hook `target`, asked at the point `action`, refused (`status` 403) or failed itself (500); `body` says why."""

    type: Literal["hook"]
    id: int
    turn: int
    action: str
    target: str
    status: int
    outcome: str
    body: str


class ContextDict(_OfARun):
    """Old results are summarized from now on."""

    type: Literal["context"]
    id: int
    turn: int
    action: str
    status: int
    body: str
    path: str


class StrikeDict(_OfARun):
    """A turn that failed; `body` says which of how many, and whether it is a cycle."""

    type: Literal["strike"]
    id: int
    turn: int
    body: str


class ProposalDict(_OfARun):
    """Something waits for a decision (`status` 202); `path` is what `resolve` takes."""

    type: Literal["proposal"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    status: int
    path: str


class BeginDict(_OfARun):
    """A command begins to work in the world: a process, a page, a function, a file; `path` is its entry."""

    type: Literal["begin"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    path: str


class ProgressDict(_OfARun):
    """A function of the app says how far it has come (`context.tell`); `path` is the entry of its command."""

    type: Literal["progress"]
    id: int
    turn: NotRequired[int]
    action: str
    target: NotRequired[str]
    path: str
    text: str


class OutputDict(_OfARun):
    """What a process prints; `channel` is 1 (stdout) or 2 (stderr).

    The method `output` follows a command in the background.
    """

    type: Literal["output"]
    id: int
    channel: int
    text: str


class RetryDict(_OfARun):
    """The model failed and is asked again after `wait_s` seconds; deltas, thoughts and text start over."""

    type: Literal["retry"]
    id: int
    message: str
    failures: int
    wait_s: float


class SandboxDict(_OfARun):
    """A shell command comes up and there is no sandbox for it (`status` 403); `body` says why, and what that means."""

    type: Literal["sandbox"]
    id: int
    status: int
    body: str


class EmbedderDict(_OfARun):
    """Search by meaning failed (`status` 500), so tools are found by their words alone; `body` says why. Told once a run."""

    type: Literal["embedder"]
    id: int
    turn: int
    status: int
    body: str


class RulesDict(_OfARun):
    """Files with rules have changed and were read again; `body` says what became of the rules.

    `status` is 200, or 500 if a file cannot be read any more; the rules are those of before then.
    """

    type: Literal["rules"]
    id: int
    turn: int
    status: int
    body: str


class CachedDict(_OfARun):
    """The answer of a turn came from the answer cache; `body` names the turn that it was given in before."""

    type: Literal["cached"]
    id: int
    turn: int
    cost: float
    status: int
    body: str


class ServerDict(_OfARun):
    """The MCP server `action` is connected (`status` 200), is not (502), or is waited for (102).

    `body` says what the server has, or why it failed.
    """

    type: Literal["server"]
    id: int
    action: str
    status: int
    body: str


class StepDict(_OfARun):
    """A step of a workflow, `action`, is in another state: `outcome` is running, completed, failed, cancelled or skipped."""

    type: Literal["step"]
    id: int
    action: str
    outcome: str
    body: NotRequired[str]


class LoopDict(_OfARun):
    """A prompt was queued or ended: `status` is that of its loop, `outcome` the word for it, `body` the reason."""

    type: Literal["loop"]
    id: int
    status: int
    outcome: str
    body: NotRequired[str]


class RefusedDict(_OfARun):
    """Line number `line` of the input of `engine run --input stream-json` was not carried out; `message` says why."""

    type: Literal["refused"]
    id: int
    line: int
    status: int
    message: str


class EndDict(_OfARun):
    """The last event of a stream: `result` is what `run` would have returned; in JSON it is an object.

    With `result.status` 202 the run waits for a decision.
    """

    type: Literal["end"]
    id: int
    result: Result


Event = (
    TurnDict
    | TextDict
    | DeltaDict
    | PartialDict
    | ThoughtDict
    | CallDict
    | CommandDict
    | ErrorDict
    | AcceptanceDict
    | CommitDict
    | HookDict
    | ContextDict
    | StrikeDict
    | ProposalDict
    | BeginDict
    | ProgressDict
    | OutputDict
    | RetryDict
    | SandboxDict
    | EmbedderDict
    | RulesDict
    | CachedDict
    | ServerDict
    | StepDict
    | LoopDict
)
"""What a run does; `type` says which of them it is. `id` is the latest event of the file that was told, `run` the run below
the one that is driven that tells it."""

OnEvent = Callable[[Event], None]

StreamDict = StartDict | Event | RefusedDict | EndDict
"""What a stream gives; the first event and the last one are not told to `on_event`."""

VERSION = 1
"""The version of the events."""
