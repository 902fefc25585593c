"""What a model is to the engine: messages in, text and figures out, and one kind of error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.errors import EngineError

STATUS_BY_CATEGORY = {
    "timeout": 504,
    "aborted": 499,
    "gateway": 502,
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
"""What providers call it when an answer reached the output limit; the engine's word is ``length``."""


@dataclass(frozen=True)
class Message:
    """One message of a packet; `role` is ``system``, ``user`` or ``assistant``.

    `cuts` are offsets at which it may be cut into blocks, so that the blocks of an earlier message come again; `cache_to`
    are the ones among them up to which a provider may cache. An adapter whose provider caches by itself ignores both.
    """

    role: str
    content: str
    cuts: tuple[int, ...] = ()
    cache_to: tuple[int, ...] = ()


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a model may call natively; `schema` is the JSON Schema of its arguments, as text."""

    name: str
    description: str
    schema: str


@dataclass(frozen=True)
class ToolCall:
    """A native call of a tool; `arguments` are a text where the model did not write an object."""

    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True)
class Request:
    """One call of a model.

    `temperature` and `max_tokens` of None leave the choice to the model; `grammar` is GBNF, and an adapter
    that cannot constrain its output ignores it; `timeout_s` bounds the whole call, streaming included.
    `position` counts the responses that the run `run` has stored so far: a scripted or replayed model
    answers by it. `tools` are those to call natively, none for a model that answers in markup.
    """

    messages: tuple[Message, ...]
    temperature: float | None
    max_tokens: int | None
    grammar: str | None
    timeout_s: float
    position: int
    run: str
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True)
class Usage:
    """What a call took: tokens, and `cost` in US dollars; None is unknown.

    `cached_tokens` are part of `prompt_tokens`, `reasoning_tokens` are part of `completion_tokens`.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Completion:
    """What a model said; `finish_reason` is ``stop``, ``tool_call``, ``length`` where it reached the output limit,
    ``content_filter`` where a filter stopped it, ``incomplete`` where it broke off, or None where nobody says.

    `calls` are what it called natively. `native` says that it did, also where `text` holds the calls already.
    """

    text: str
    reasoning: str
    usage: Usage
    finish_reason: str | None
    calls: tuple[ToolCall, ...] = ()
    native: bool = False


class Model(Protocol):
    """Anything that answers a request."""

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """Answer `request`, handing text to `on_delta` in the caller's thread as it arrives.

        Raises `ModelError`; its category is ``aborted`` within 0.2 s after `cancelled` has been set, and
        ``timeout`` when `timeout_s` is over.
        """
        ...


class ModelError(EngineError):
    """A model call failed.

    `category` is a key of `STATUS_BY_CATEGORY` and gives the status unless one is passed. `retry_after_s`
    is how long the provider asked to wait. A `final` error is never retried, whatever its category.
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
        super().__init__(message, STATUS_BY_CATEGORY[category] if status is None else status)


def finish_reason(name: str | None) -> str | None:
    """The engine's word for what a provider says of an answer's end; a word that it has none for, as it is."""
    word = (name or "").strip().lower()
    return "length" if word in _LENGTH else "incomplete" if word == "error" else word or None


def storable(text: str) -> str:
    """`text` as SQLite can keep it: halves of a character are joined; a lone half, like a NUL, becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def category_of_status(status: int, message: str = "") -> str:
    """The category that an HTTP `status` of a provider stands for; `message` tells a warm-up from other
    503s.
    """
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
