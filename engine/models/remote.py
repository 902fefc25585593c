"""`provider/name`, `http://HOST/v1#name`: a model of a provider's API, or of a server with OpenAI's API.

Requests are written here and sent by an HTTP client alone: the libraries of the providers take over a second to import, and
write the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.models import chat_request, messages_request
from engine.models.addresses import parted
from engine.models.failures import translated
from engine.models.model_options import refused, taken_by
from engine.models.prices import list_price, priced
from engine.models.protocol import Completion, ModelError, Price, Request
from engine.models.providers import Endpoint, endpoint, missing_library
from engine.models.sending import CONNECT_S, sender
from engine.models.thinking import thinking_of
from engine.models.timeouts import Emit, News, awaited
from engine.models.wire import Wire


class RemoteModel:
    """Model `name` of a provider, whose address the environment may change; the key is that of `keys`.

    Raises `ModelError` (auth, 401) where there is no key, `EngineError` (500) where the libraries are not
    installed. Calls are streamed. `timeout_s` of the request is the limit for the whole call; connecting may take 10 s.
    """

    def __init__(self, provider: str, name: str, keys: Keys | None = None, *, at: Endpoint | None = None) -> None:
        self.name = name
        self.who = f"{provider}/{name}" if at is None else f"{at.url}#{name}"
        self._at = at or endpoint(PROVIDERS[provider], keys)
        self._thinking = thinking_of(self._at, name)
        if find_spec("httpx2") is None:
            raise missing_library()

    @classmethod
    def of_address(cls, name: str) -> RemoteModel:
        """The model of a server that is named by its address. Raises `ValidationError` (400)."""
        at, model = parted(name)
        return cls(at.provider.name, model, at=at)

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """Ask the provider once; raises `ModelError`."""

        def begin(news: News) -> Callable[[], None]:
            return sender().begin(self._call(request, news.put), news.put)

        return awaited(begin, who=self.who, timeout_s=request.timeout_s, on_delta=on_delta, cancelled=cancelled)

    @property
    def takes_effort(self) -> bool:
        """Whether it can be told how hard to think, by what is known of its name."""
        return bool(self._thinking.levels)

    def options_error(self, options: Mapping[str, Any]) -> str | None:
        """Why it does not take these settings; None where it does."""
        return refused(self.who, options, taken_by(self._at.provider.name, self._at.is_own), self._thinking)

    def takes_temperature(self, effort: str | None) -> bool:
        """Whether a temperature is sent with an effort."""
        return self._thinking.takes_temperature(effort)

    def price_at(self, prompt_tokens: int) -> Price | None:
        """What a call with a packet of this length costs, as far as the price list knows."""
        return list_price(self._at, self.name, prompt_tokens)

    async def _call(self, request: Request, emit: Emit) -> Completion:
        import httpx2

        wire = Wire(self.who, self._at, emit)
        url, headers, body = self._written(request)
        # who waits for the whole call cancels it in time
        timeout = httpx2.Timeout(None, connect=min(CONNECT_S, request.timeout_s))
        try:
            sent = sender().client().stream("POST", url, headers=headers, content=body, timeout=timeout)
            async with sent as response:
                await wire.read(response)
        except Exception as error:
            raise translated(error, self.who, self._at) from None
        completion = wire.answer.completion()
        usage = priced(completion.usage, wire.answer.figures.written, request.price, self._at, self.name)
        return replace(completion, usage=usage)

    def _written(self, request: Request) -> tuple[str, dict[str, str], bytes]:
        """The address, the headers and the body of a request, in the form of the provider's API."""
        body: dict[str, Any]
        if self._at.provider.name == "anthropic":
            path, headers = messages_request.PATH, messages_request.messages_headers(self._at)
            body = messages_request.messages_request(request, self.name, self._thinking)
        else:
            path, headers = chat_request.PATH, chat_request.chat_headers(self._at)
            body = chat_request.chat_request(request, self._at, self.name, self._thinking)
        before, mark, query = self._at.url.partition("?")
        headers |= {"content-type": "application/json"} | _checked(request.headers)
        return f"{before.rstrip('/')}{path}{mark}{query}", headers, _json(body)


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent; raises `ModelError` (invalid) for one that cannot."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ModelError("invalid", f"header {name}: {value[:80]!r} cannot be sent; use printable ASCII only")
    return dict(headers)
