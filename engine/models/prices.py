"""What a call costs, by what the provider has stated of it, a person's price, or the list of a library.

spec: @model_prices
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.models.protocol import FREE, Price, Usage
from engine.models.providers import is_local

if TYPE_CHECKING:
    from engine.models.protocol import Model
    from engine.models.providers import Endpoint


def priced(usage: Usage, written: int, price: Price | None, at: Endpoint, name: str) -> Usage:
    """`usage` with its cost in US dollars: the provider's own figure, else a person's price, else the library's list.

    `written` are tokens that the provider wrote to its cache. A local model that none of them knows costs 0.
    """
    if usage.cost is not None:
        return usage
    if price is not None:
        return replace(usage, cost=price.of(usage), cost_from="person")
    listed = None if usage.prompt_tokens is None else _listed(usage, written, at, name)
    if listed is None and is_local(at, name):
        return replace(usage, cost=0.0, cost_from="local")
    return replace(usage, cost=listed, cost_from="list")


def _listed(usage: Usage, written: int, at: Endpoint, name: str) -> float | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=written or None,
        output_tokens=usage.completion_tokens,
    )
    try:
        return float(calc_price(tokens, name, provider_api_url=at.url).total_price)
    except (LookupError, ValueError):
        return None


def price_at(model: Model, prompt_tokens: int | None) -> Price | None:
    """What a call of a model costs with a packet of this length, before it is made; None: unknown.

    A model object says so with a method `price_at(prompt_tokens)`, which returns a `Price`.
    """
    told = getattr(model, "price_at", None)
    found = told(prompt_tokens or 0) if callable(told) else None
    return found if isinstance(found, Price) else None


def list_price(at: Endpoint, name: str, prompt_tokens: int) -> Price | None:
    """What the library's list says of a provider's model; a local one that it does not know costs nothing."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    read = max(prompt_tokens, 1)
    try:
        found = calc_price(Tokens(input_tokens=read, output_tokens=1000), name, provider_api_url=at.url)
    except (LookupError, ValueError):
        return FREE if is_local(at, name) else None
    read_price = float(found.input_price) / read * 1_000_000
    return Price(read_price, float(found.output_price) * 1000, read_price)
