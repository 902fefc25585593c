"""Reads the figures that a provider states of an answer: tokens, and its cost.

A provider may state them once, with each chunk, in pieces, or never. Each figure counts from the beginning of the answer, so
a later one replaces the one before; a 0 or nothing behind a number does not.

spec: @provider_streams
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.models.protocol import Usage, is_count

_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_MAIN = (*_PROMPT, *_COMPLETION, "total_tokens")
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
_WRITTEN = ("cache_creation_input_tokens", "cache_write_tokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details")


_DOLLARS = re.compile(r"\d{1,9}(?:\.\d{1,12})?", re.ASCII)


@dataclass
class Figures:
    """What a provider has stated so far; 0: nothing. `written` are tokens that it wrote to its cache.

    `apart` says that cached and written tokens are no part of `prompt`, as at Anthropic's API.
    """

    apart: bool = False
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    written: int = 0
    reasoning: int = 0
    total: int = 0
    cost: float | None = None

    def take(self, stated: Any) -> None:
        """Take the usage of a chunk. If one of its main figures cannot be one, those of the whole answer are unknown."""
        if stated is None:
            return
        if not isinstance(stated, Mapping) or not all(_may_be(stated.get(name)) for name in _MAIN):
            self.prompt = self.completion = self.cached = self.written = self.reasoning = self.total = 0
            return
        details = [each for name in _DETAILS if isinstance(each := stated.get(name), Mapping)]
        self.prompt = _first((stated,), _PROMPT) or self.prompt
        self.completion = _first((stated,), _COMPLETION) or self.completion
        self.total = _first((stated,), ("total_tokens",)) or self.total
        self.cached = _first((*details, stated), _CACHED) or self.cached
        self.written = _first((*details, stated), _WRITTEN) or self.written
        self.reasoning = _first((*details, stated), ("reasoning_tokens", "thinking_tokens")) or self.reasoning
        self.take_cost(stated.get("cost"))

    def take_cost(self, stated: Any) -> None:
        """Take a cost in US dollars, which may be text, or an object with a total."""
        self.cost = _cost(stated, self.cost)

    @property
    def usage(self) -> Usage:
        """The figures in the engine's terms; unknown where nothing was stated."""
        if not self.prompt and not self.completion:
            return Usage(cost=self.cost)
        prompt = self.prompt + (self.cached + self.written if self.apart else 0)
        beside = self._beside
        return Usage(prompt, self.cached, self.completion + beside, self.reasoning or beside, self.cost)

    @property
    def _beside(self) -> int:
        """The tokens of thoughts that the provider counts beside the answer and not in it, as its total says."""
        beside = self.total - self.prompt - self.completion
        return beside if beside > 0 and self.reasoning in (0, beside) else 0


def _may_be(value: Any) -> bool:
    return value is None or is_count(value)


def _first(places: Iterable[Mapping[str, Any]], names: Iterable[str]) -> int:
    """The first count that is not 0."""
    return next((int(each) for place in places for name in names if is_count(each := place.get(name)) and each), 0)


def _cost(stated: Any, before: float | None) -> float | None:
    """US dollars; some providers state them in parts, with a total."""
    if isinstance(stated, Mapping):
        stated = stated.get("total_cost")
    if isinstance(stated, str) and _DOLLARS.fullmatch(stated):
        stated = float(stated)
    is_cost = isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated < 10**10
    return float(stated) if is_cost else before
