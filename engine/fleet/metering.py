"""Models that ask the manifest before each call: whether its minute has room, and whether its cost fits below the ceiling.

spec: @fleet_ceiling @fleet_rates
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.errors import Conflict
from engine.models import resolve_model
from engine.models.protocol import Completion, Model, ModelError, Request, Usage

if TYPE_CHECKING:
    from engine.handle import Handle
    from engine.models.app_models import AppModels

    from .manifest import Manifest

_FREE = frozenset({"unreachable", "certificate", "rate_limit", "auth", "not_found", "invalid", "script"})
"""Failures before which nothing was generated, so that nothing is paid for."""
_BYTES_PER_TOKEN = 2
"""Fewer than any tokenizer's in use has on average, so that the bound of a call is above its cost."""


class Meter:
    """What one attempt may spend. `stop` ends its driving, so that its run can go on later."""

    def __init__(
        self, manifest: Manifest, token: str, *, call_cost: float | None, max_output: int, ceiling: bool
    ) -> None:
        self._manifest = manifest
        self._token = token
        self._call_cost = call_cost
        self._max_output = max_output
        self._ceiling = ceiling
        self._driver: Any = None
        self.stopped_for: str | None = None
        """Why the driving was ended: a kind of failure, None if it was not."""

    def watch(self, driver: Any) -> None:
        """Know the driver of the attempt, which is told to stop."""
        self._driver = driver
        if self.stopped_for is not None:
            driver.stop()

    def stop(self, why: str) -> None:
        """End the driving; the run can be resumed."""
        self.stopped_for = self.stopped_for or why
        if self._driver is not None:
            self._driver.stop()

    def complete(
        self, model: Model, name: str, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event
    ) -> Completion:
        """Have `model` answer, when the manifest allows it; raises what the model raises, and `ModelError` if it may not."""
        if self._ceiling and request.max_tokens is None:
            request = replace(request, max_tokens=self._max_output)
        tokens = self._most_tokens(request)
        bound = self._bound(name, request, tokens) if self._ceiling else 0.0
        if bound is None:
            self.stop("no_price")
            raise ModelError("aborted", f"the price of {name} is not known; --call-cost says what a call costs at most")
        call = secrets.token_hex(8)
        self._wait(call, key_of(name), tokens, bound, cancelled)
        cost: float | None = bound
        used: int | None = None
        try:
            completion = model.complete(request, on_delta, cancelled)
            cost = _cost_of(completion, request, bound)
            used = _tokens_of(completion.usage)
        except ModelError as error:
            cost = 0.0 if error.category in _FREE else bound
            raise
        finally:
            self._settle(call, used, cost)
        return completion

    def _wait(self, call: str, key: str, tokens: int, bound: float, cancelled: threading.Event) -> None:
        while True:
            try:
                told = self._manifest.open_call(self._token, call, key, tokens, bound)
            except Conflict:
                self.stop("lost")
                raise ModelError("aborted", "this attempt was given up") from None
            if told["verdict"] == "go":
                return
            if told["verdict"] == "ceiling":
                self.stop("ceiling")
                raise ModelError("aborted", "the next call might cost more than is left")
            if cancelled.wait(min(told["wait_ms"], 2_000) / 1000):
                raise ModelError("aborted", "the call was given up while it waited for its turn")

    def _settle(self, call: str, tokens: int | None, cost: float | None) -> None:
        self._manifest.call("_settle_call", id=call, tokens=tokens, cost=cost)

    def _most_tokens(self, request: Request) -> int:
        size = sum(len(message.content.encode()) for message in request.messages)
        size += sum(len(tool.schema) + len(tool.description) for tool in request.tools)
        return size // _BYTES_PER_TOKEN + (request.max_tokens or 0) + 1

    def _bound(self, name: str, request: Request, tokens: int) -> float | None:
        """The most that a call may cost; None if nobody knows."""
        if self._call_cost is not None:
            return self._call_cost
        written = request.max_tokens or self._max_output
        usage = Usage(prompt_tokens=tokens - written, completion_tokens=written)
        if request.price is not None:
            return request.price.of(usage)
        return _listed(name, usage)


class MeteredModels:
    """The models of a handle, each of them metered; it stands in the place of `Handle.app_models`."""

    def __init__(self, db: Handle, meter: Meter) -> None:
        self._inner: AppModels = db.app_models
        self._db = db
        self._meter = meter

    def find(self, name: str) -> Model:
        """The model of that name, whether an object or one of a provider."""
        return _Metered(self._inner.find(name) or resolve_model(name, self._db.keys_for(None)), name, self._meter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Metered:
    def __init__(self, model: Model, name: str, meter: Meter) -> None:
        self._model = model
        self._name = name
        self._meter = meter

    def complete(
        self, request: Request, on_delta: Callable[[str], None] | None = None, cancelled: threading.Event | None = None
    ) -> Completion:
        return self._meter.complete(
            self._model, self._name, request, on_delta or _unheard, cancelled or threading.Event()
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def key_of(name: str) -> str:
    """The key that a model's rate counts for: the provider in its name, such as openai; the whole name without one."""
    return name.partition("/")[0] if "/" in name and ":" not in name.partition("/")[0] else name.partition(":")[0]


def _unheard(_: str) -> None:
    """Nobody listens."""


def _tokens_of(usage: Usage) -> int | None:
    if usage.prompt_tokens is None and usage.completion_tokens is None:
        return None
    return (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)


def _cost_of(completion: Completion, request: Request, bound: float) -> float:
    """What a call has cost; its bound if that is not known."""
    cost = completion.usage.cost
    if cost is None and request.price is not None:
        cost = request.price.of(completion.usage)
    return bound if cost is None else cost


def _listed(name: str, usage: Usage) -> float | None:
    try:
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price
    except ModuleNotFoundError:
        return None
    provider, _, model = name.partition("/")
    tokens = Tokens(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)
    try:
        return float(calc_price(tokens, model or provider, provider_id=provider if model else None).total_price)
    except (LookupError, ValueError):
        return None
