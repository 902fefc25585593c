"""The interface of a model: requests, completions, and the one error that a call raises."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from engine.errors import EngineError
from engine.functions.limits import RESPONSE_CHARACTERS
from engine.system.secrets import scrubbed

STATUS_BY_CATEGORY = {
    "timeout": 504,
    "aborted": 499,
    "gateway": 502,
    "unreachable": 502,
    "certificate": 502,
    "rate_limit": 429,
    "warmup": 502,
    "server": 500,
    "auth": 401,
    "not_found": 404,
    "context_exceeded": 413,
    "invalid": 400,
    "script": 400,
}


_LENGTH = frozenset(
    {"max_tokens", "max_output_tokens", "max_completion_tokens", "max_length", "model_length", "token_limit"}
    | {"model_context_window_exceeded", "context_length_exceeded"}
)
"""The providers' words for an answer that reached the output limit; the engine's word is ``length``."""
_WORDS = (
    dict.fromkeys(_LENGTH, "length")
    | dict.fromkeys(("end_turn", "stop_sequence", "eos", "eos_token", "end_of_text", "complete", "completed"), "stop")
    | dict.fromkeys(("tool_calls", "tool_use", "function_call", "function_calls"), "tool_call")
    | dict.fromkeys(("safety", "refusal", "recitation", "prohibited_content", "blocklist"), "content_filter")
    | dict.fromkeys(
        ("error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"), "incomplete"
    )
)
"""The engine's words for how an answer ended, by those of providers."""


@dataclass(frozen=True)
class Message:
    """One message of a packet; `role` is ``system``, ``user`` or ``assistant``.

    `cuts` are offsets (in characters) at which the message is cut into blocks; blocks of the message before it come again
    unchanged. `cache_to` are those cuts up to which a provider may cache. An adapter of a provider that caches by itself
    ignores both.
    """

    role: str
    content: str
    cuts: tuple[int, ...] = ()
    cache_to: tuple[int, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A picture of a packet, or a PDF or a sound: its `media_type`, such as ``image/png``, and the bytes of its file."""

    media_type: str
    body: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """What it is: ``image``, ``application`` (a PDF) or ``audio``."""
        return self.media_type.partition("/")[0]


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a model may call natively; `schema` is the JSON Schema of its arguments, as text."""

    name: str
    description: str
    schema: str


@dataclass(frozen=True)
class ToolCall:
    """A native call of a tool; `arguments` are a text where the model wrote no JSON object."""

    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True)
class Price:
    """What a person says that a model costs, in US dollars per million tokens."""

    input: float
    output: float
    cached: float

    def of(self, usage: Usage) -> float | None:
        """The cost of these tokens; None where they are not known, unless they are free."""
        if not self.input and not self.output:
            return 0.0
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        dollars = (usage.prompt_tokens - cached) * self.input + cached * self.cached
        return (dollars + usage.completion_tokens * self.output) / 1_000_000


FREE = Price(0.0, 0.0, 0.0)
"""The price of a model that nobody charges for."""


@dataclass(frozen=True)
class Request:
    """One call of a model.

    Where `temperature` or `max_tokens` is None, the model chooses. `grammar` is GBNF; an adapter that cannot constrain its
    output ignores it. `timeout_s` is the limit in seconds for the whole call, streaming included. `position` is the number
    of responses that the run `run` has stored so far; scripted and replayed models choose their answer by it. `tools` are
    the tools to call natively; there are none for a model that answers in markup. `pictures` belong to the last message, in
    the order of the numbers that its text gives them; there are none for a model that does not see. `effort` is how hard it
    shall think, one of `engine.functions.values.EFFORTS`; None: as it does by itself. `price` is what a person says of the
    model's, for an adapter that knows what its provider charged, or has a list of its own. `headers` are sent to the
    provider beside its own. `output` is the JSON Schema that the answer has to fit; the prompt and `tools` tell it too.
    `options` are settings of the model by the names of `engine.functions.model_options.OPTIONS`, without temperature and
    max_output. Where it `is_bounded`, no more than `max_tokens` may be paid for: thoughts count among them.
    """

    messages: tuple[Message, ...]
    temperature: float | None
    max_tokens: int | None
    grammar: str | None
    timeout_s: float
    position: int
    run: str
    tools: tuple[ToolSpec, ...] = ()
    pictures: tuple[Picture, ...] = ()
    effort: str | None = None
    price: Price | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    output: str | None = None
    is_bounded: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


CostFrom = Literal["provider", "person", "list", "local"]


@dataclass(frozen=True)
class Usage:
    """The tokens of a call, and its `cost` in US dollars; None means unknown.

    `cost_from` says where the cost comes from: the provider or the model itself, a price that a person set, the price list
    of a library, or that a local model costs nothing. `cached_tokens` are part of `prompt_tokens`, `reasoning_tokens` are
    part of `completion_tokens`.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    cost_from: CostFrom = "provider"


@dataclass(frozen=True)
class Completion:
    """The answer of a model.

    `finish_reason` is ``stop``, ``tool_call``, ``length`` (it reached the output limit), ``content_filter`` (a filter
    stopped it), ``incomplete`` (it broke off), or None where it is not known. `calls` are its native tool calls. `native`
    says whether it made any; a replayed answer has them in `text` already.
    """

    text: str
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    calls: tuple[ToolCall, ...] = ()
    native: bool = False


def expect_completion(answer: object) -> Completion:
    """The answer of a model; raises `TypeError` for what is none, such as the coroutine of an `async def complete`."""
    if isinstance(answer, Completion) and isinstance(answer.text, str):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
        raise TypeError("the model's complete() is a coroutine; make it a plain function, which is called in a thread")
    raise TypeError(f"the model's complete() returned {answer!r:.80}; return a Completion, such as Completion('text')")


class Thought(str):
    """A piece of what a model thinks before it answers; given to `on_delta`, it is told as a thought and not as text."""

    __slots__ = ()


class CallPiece(str):
    """A piece of the arguments of a call while a model writes it; given to `on_delta`, it is told as a piece of the call.

    `call` is the place of the call in the answer, from 0; `tool` its name as far as it is known.
    """

    __slots__ = ("call", "tool")
    call: int
    tool: str

    def __new__(cls, text: str, call: int, tool: str) -> CallPiece:
        """A piece of call number `call`."""
        piece = super().__new__(cls, text)
        piece.call, piece.tool = call, tool
        return piece


class Model(Protocol):
    """An adapter that answers requests."""

    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event, /) -> Completion:
        """Answer `request`; text goes to `on_delta`, in the caller's thread, as it arrives. All three are always given.

        What the model thinks may go there too, as `Thought`s, and the arguments of calls as `CallPiece`s.

        Raises `ModelError`: category ``aborted`` within 0.2 s after `cancelled` is set, ``timeout`` after `timeout_s`.
        """
        ...


class ModelError(EngineError):
    """A model call failed.

    `category` is a key of `STATUS_BY_CATEGORY`, which gives the status unless one is passed. `retry_after_s` is the wait
    in seconds that the provider asked for. A `final` error is never retried. Secrets are taken out of the message.
    """

    def __init__(
        self,
        category: str,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        final: bool = False,
    ) -> None:
        self.category = category
        self.retry_after_s = retry_after_s
        self.final = final
        super().__init__(scrubbed(message), STATUS_BY_CATEGORY[category] if status is None else status)


def is_count(value: object) -> bool:
    """Whether `value` can be a number of tokens or the like: whole, not negative, below ten thousand million."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**10


def known(usage: Usage) -> Usage:
    """`usage` with None for each figure that is none, such as a fraction of a token or a negative cost."""
    counts = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.reasoning_tokens)
    prompt, cached, completion, reasoning = (each if is_count(each) else None for each in counts)
    cost = usage.cost if isinstance(usage.cost, int | float) and 0 <= usage.cost < 10**10 else None
    origin = usage.cost_from if usage.cost_from in get_args(CostFrom) else "provider"
    return Usage(prompt, cached, completion, reasoning, cost, origin)


def finish_reason(name: str | None) -> str | None:
    """The engine's word for a provider's finish reason; an unknown reason is returned in lower case."""
    word = name.strip().lower() if isinstance(name, str) else ""
    return _WORDS.get(word, word) or None


def storable(text: str) -> str:
    """`text` as SQLite can keep it: halves of a character are joined; a lone half, like a NUL, becomes U+FFFD."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


def cut_off(text: str, finish_reason: str | None = None) -> tuple[str, str | None]:
    """`text` up to the limit of a response, and why it ended: ``length`` where it was longer, else `finish_reason`."""
    return (text, finish_reason) if len(text) <= RESPONSE_CHARACTERS else (text[:RESPONSE_CHARACTERS], "length")


def category_of_status(status: int, message: str = "") -> str:
    """The category of a provider's HTTP `status`; of a 503, `message` says whether the server is loading its model."""
    if status == 503:
        return "warmup" if "Loading model" in message else "server"
    if status in (502, 504):
        return "gateway"
    by_status = {
        401: "auth",
        402: "auth",
        403: "auth",
        404: "not_found",
        413: "context_exceeded",
        429: "rate_limit",
    }
    return by_status.get(status, "server" if status >= 500 else "invalid")
