"""`provider/name`: a model of a provider's API, or of a server with OpenAI's API."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from engine.models.failures import translated
from engine.models.protocol import Completion, Message, ModelError, Picture, Price, Request, Usage
from engine.models.providers import PROVIDERS, endpoint, is_local, library_model, missing_library
from engine.models.tools import library_parameters
from engine.models.watch import Emit, watched
from engine.models.wire import Wire
from engine.packets.cuts import blocks_of

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, UserContent
    from pydantic_ai.settings import ModelSettings

    from engine.config.keys import Keys

_CONNECT_S = 10.0
_POLL_S = 0.05
_ANTHROPIC_MAX_TOKENS = 8192
"""Anthropic's API requires a limit for the answer; all of its models can write this many tokens."""
_ANTHROPIC_THOUGHTS = 32_768
"""Tokens that the library gives one of Anthropic's models for its thoughts at most."""
_TOLD_ANY_EFFORT = ("google", "ollama", "xai")
_MESSAGE_MARKS = 3
"""Anthropic accepts four cache marks in a request; one of them is for the system text."""


class RemoteModel:
    """Model `name` of a provider, whose address the environment may change; the key is that of `keys`.

    Raises `ModelError` (auth, 401) where there is no key, `EngineError` (500) where the libraries are not
    installed. Calls are streamed. `timeout_s` of the request is the limit for the whole call; connecting may take 10 s.
    """

    def __init__(self, provider: str, name: str, keys: Keys | None = None) -> None:
        self.name = name
        self.who = f"{provider}/{name}"
        self._at = endpoint(PROVIDERS[provider], keys)
        if find_spec("pydantic_ai") is None:
            raise missing_library()

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """Ask the provider once; raises `ModelError`."""

        def work(emit: Emit, stop: threading.Event) -> Completion:
            return asyncio.run(self._until_stopped(request, emit, stop))

        return watched(work, who=self.who, timeout_s=request.timeout_s, on_delta=on_delta, cancelled=cancelled)

    @property
    def takes_effort(self) -> bool:
        """Whether it can be told how hard to think: as the library knows of its name; where it knows none, it is told."""
        if self._is_told_any_effort:
            return True
        profile: Any = library_model(self._at, self.name, _http_client(_CONNECT_S)).profile
        return bool(profile.get("supports_thinking") or profile.get("thinking_always_enabled"))

    async def _until_stopped(self, request: Request, emit: Emit, stop: threading.Event) -> Completion:
        call = asyncio.create_task(self._call(request, emit))
        while not call.done():
            await asyncio.wait({call}, timeout=_POLL_S)
            if stop.is_set():
                call.cancel()
        return await call

    async def _call(self, request: Request, emit: Emit) -> Completion:
        wire = Wire(self.who, self._at, emit)
        async with _http_client(request.timeout_s, wire.hooks) as http:
            try:
                await self._ask(library_model(self._at, self.name, http), request)
            except Exception as error:
                raise translated(error, self.who, self._at) from None
        completion = wire.answer.completion()
        return replace(completion, usage=self._priced(completion.usage, wire.answer.figures.written, request.price))

    async def _ask(self, model: Any, request: Request) -> None:
        """Send the request; the answer is read from the wire."""
        from pydantic_ai.direct import model_request_stream

        marks = _MESSAGE_MARKS if self._caches_where_told else 0
        messages, settings = _library_messages(request, marks), self._settings(request)
        parameters = library_parameters(request.tools, self._at.provider.name) if request.tools else None
        async with model_request_stream(
            model, messages, model_settings=settings, model_request_parameters=parameters, instrument=False
        ) as stream:
            async for _ in stream:
                pass

    def _settings(self, request: Request) -> ModelSettings:
        settings: dict[str, Any] = {
            # models refuse it, or warn of it, where they are asked to think
            "temperature": None if self._thinks(request) else request.temperature,
            "max_tokens": self._max_tokens(request),
            **self._effort(request),
            # the library marks the system text, not the messages: their cache points are in _user_content
            "cache": {"messages": False} if self._caches_where_told else None,
            # llama.cpp's server accepts GBNF; the providers' own APIs refuse the field
            "extra_body": {"grammar": request.grammar} if self._takes_grammar(request) else None,
            "extra_headers": _checked(request.headers) or None,
        }
        return {key: value for key, value in settings.items() if value is not None}  # type: ignore[return-value]

    def _max_tokens(self, request: Request) -> int | None:
        """The limit of the answer. At Anthropic's API that counts the thoughts too, so they get room beside it."""
        if self._at.provider.name != "anthropic":
            return request.max_tokens
        most = request.max_tokens or _ANTHROPIC_MAX_TOKENS
        return most + _ANTHROPIC_THOUGHTS if self._thinks(request) else most

    def _effort(self, request: Request) -> dict[str, Any]:
        """How hard it shall think, in the library's terms, which sends nothing to models that it does not know."""
        if request.effort is None:
            return {}
        if self._is_told_any_effort:
            return {"openai_reasoning_effort": request.effort}
        return {"thinking": False if request.effort == "none" else request.effort}

    @property
    def _is_told_any_effort(self) -> bool:
        """Whether the server decides what efforts it takes: the library does not know its models."""
        return self._is_own_server or self._at.provider.name in _TOLD_ANY_EFFORT

    @property
    def _is_own_server(self) -> bool:
        """Whether a server of the user's own is asked, with OpenAI's API and any model."""
        return self._at.provider.name == "openai" and not self._at.is_own

    def _thinks(self, request: Request) -> bool:
        return request.effort not in (None, "none")

    @property
    def _caches_where_told(self) -> bool:
        """Whether the model caches only up to marks in the request, as Anthropic's do through any provider."""
        return self._at.provider.name == "anthropic" or (
            self._at.provider.name == "openrouter" and self.name.startswith("anthropic/")
        )

    def _takes_grammar(self, request: Request) -> bool:
        return bool(request.grammar) and self._is_own_server

    def _priced(self, usage: Usage, written: int, price: Price | None) -> Usage:
        """`usage` with its cost in US dollars: the provider's own figure, else a person's price, else the library's list.

        A local model that none of them knows costs 0.
        """
        if usage.cost is not None:
            return usage
        if price is not None:
            return replace(usage, cost=price.of(usage))
        listed = None if usage.prompt_tokens is None else self._listed(usage, written)
        return replace(usage, cost=0.0 if listed is None and is_local(self._at, self.name) else listed)

    def _listed(self, usage: Usage, written: int) -> float | None:
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price

        tokens = Tokens(
            input_tokens=usage.prompt_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=written or None,
            output_tokens=usage.completion_tokens,
        )
        try:
            return float(calc_price(tokens, self.name, provider_api_url=self._at.url).total_price)
        except (LookupError, ValueError):
            return None


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent; raises `ModelError` (invalid) for one that cannot."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ModelError("invalid", f"header {name}: {value[:80]!r} cannot be sent; it is printable ASCII")
    return dict(headers)


def _http_client(timeout_s: float, hooks: dict[str, list[Any]] | None = None) -> httpx2.AsyncClient:
    """A client that follows no redirects, so that a key goes nowhere but to the address that a person gave."""
    try:
        import httpx2
    except ImportError as error:
        raise missing_library() from error
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks=hooks or {},
    )


def _library_messages(request: Request, marks: int = 0) -> list[ModelMessage]:
    """The messages in the library's form; one of the user gets at most `marks` cache marks, the last one the pictures."""
    from pydantic_ai import messages as library

    result: list[ModelMessage] = []
    for message in request.messages:
        if message.role == "assistant":
            result.append(library.ModelResponse(parts=[library.TextPart(message.content)]))
            continue
        part: library.ModelRequestPart
        if message.role == "system":
            part = library.SystemPromptPart(message.content)
        else:
            pictures = request.pictures if message is request.messages[-1] else ()
            part = library.UserPromptPart(_user_content(message, marks, pictures))
        if not result or not isinstance(result[-1], library.ModelRequest):
            result.append(library.ModelRequest(parts=[]))
        result[-1] = library.ModelRequest(parts=[*result[-1].parts, part])
    return result


def _user_content(message: Message, marks: int, pictures: Sequence[Picture]) -> str | list[UserContent]:
    """The text of a message; in blocks, with cache points between them, where it is to be cached. Pictures stand behind it,
    each under its number.
    """
    from pydantic_ai.messages import BinaryContent, CachePoint

    cached = bool(marks and message.cuts)
    if not cached and not pictures:
        return message.content
    content: list[UserContent] = []
    for text, ends in blocks_of(message, marks) if cached else [(message.content, False)]:
        content += [text, CachePoint()] if ends else [text]
    for number, picture in enumerate(pictures, 1):
        content += [f"Picture {number}:", BinaryContent(picture.body, media_type=picture.media_type)]
    return content
