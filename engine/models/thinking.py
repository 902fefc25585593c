"""How hard a model can be told to think, and whether it takes a temperature, by what is known of its name.

Of a model that is not known here nothing is said, or what a server of its provider is left to decide. Facts are those of the
providers' documentation.

spec: @effort
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.functions.values import EFFORTS

if TYPE_CHECKING:
    from engine.models.providers import Endpoint

_OPENAI = re.compile(r"(?:o\d|gpt-(\d+)(?:\.(\d+))?)(?![\w.])(.*)")
_CLAUDE = re.compile(r"claude-(?:[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?|(\d)(?:[-.](\d))?-[a-z]+)(?!\d)")
_ALWAYS_THINKS = re.compile(r"deepseek/deepseek-r1|google/gemini-(?:2\.5-pro|3)")
_CEREBRAS = {"gpt-oss": ("low", "medium", "high"), "zai-glm": ("none", "medium")}
_ASKED_AS_IT_IS = ("google", "ollama", "xai")
"""Providers whose server decides what efforts it takes."""
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 10_000, "high": 16_384, "xhigh": 32_768, "max": 32_768}
"""Tokens for the thoughts of a Claude model that is told a number of them."""


@dataclass(frozen=True)
class Thinking:
    """What a model can be told.

    `levels` are the efforts that it has, the weakest first. `by_itself` says that it thinks where nothing is said, `always`
    that it does whatever is said. One of Claude's without `adaptive` is told a number of tokens; one with `forms` keeps its
    text to a schema.
    """

    levels: tuple[str, ...] = ()
    by_itself: bool = False
    always: bool = False
    adaptive: bool = False
    forms: bool = False

    def nearest(self, effort: str | None) -> str | None:
        """The level that is sent for an effort: itself, else the next weaker one that thinks, else the weakest."""
        if effort is None or not self.levels or effort in self.levels:
            return effort if self.levels else None
        weaker = [each for each in self.levels if EFFORTS.index(each) < EFFORTS.index(effort)]
        thinking = [each for each in weaker if each != "none"]
        return thinking[-1] if thinking else next((each for each in self.levels if each != "none"), self.levels[0])

    def takes_temperature(self, effort: str | None) -> bool:
        """Whether a temperature is sent with an effort: models that think refuse it."""
        sent = self.nearest(effort)
        return not (self.by_itself if sent is None else self.always or sent != "none")

    def budget(self, effort: str) -> int:
        """The tokens for thoughts, of a model that is told a number."""
        return _BUDGETS[effort]


_ANY = Thinking(EFFORTS)
_NONE = Thinking()


def thinking_of(at: Endpoint, name: str) -> Thinking:
    """What the model `name` at an endpoint can be told."""
    match at.provider.name:
        case "openai" if at.is_own:
            return _of_openai(name)
        case (
            "openai" | "server"
        ):  # a server of the user's own decides; one that passes on to OpenAI refuses a temperature
            known = _of_openai(name)
            return Thinking(EFFORTS, known.by_itself, known.always)
        case "anthropic":
            return _of_claude(name)
        case "openrouter":
            return _of_openrouter(name)
        case "cerebras":
            return next((Thinking(levels) for head, levels in _CEREBRAS.items() if name.startswith(head)), _NONE)
        case provider:
            return _ANY if provider in _ASKED_AS_IT_IS else _NONE


def _of_openai(name: str) -> Thinking:
    found = _OPENAI.match(name)
    if found is None or "chat" in found[3]:
        return _NONE
    if found[1] is None:
        return Thinking(("low", "medium", "high"), by_itself=True, always=True)
    version = (int(found[1]), int(found[2] or 0))
    if version < (5, 0):
        return _NONE
    levels: tuple[str, ...]
    if "pro" in found[3]:
        levels = ("high",) if version == (5, 0) else ("medium", "high", "xhigh")
        return Thinking(levels, by_itself=True, always=True)
    if version == (5, 0) or "codex" in found[3]:
        levels = ("minimal", "low", "medium", "high") if version == (5, 0) else ("low", "medium", "high", "xhigh")
        return Thinking(levels, by_itself=True, always=True)
    levels = ("none", "low", "medium", "high", *(("xhigh",) if version > (5, 1) else ()))
    return Thinking(levels, by_itself=version >= (5, 5))


def _of_claude(name: str) -> Thinking:
    found = _CLAUDE.match(name)
    if found is None:
        return Thinking(EFFORTS, adaptive=True, forms=True)
    version = (int(found[1] or found[3]), int(found[2] or found[4] or 0))
    if version < (3, 7):
        return _NONE
    if version < (4, 6):
        return Thinking(EFFORTS, forms=version >= (4, 5))
    if version < (4, 7):
        return Thinking(("none", "low", "medium", "high", "max"), adaptive=True, forms=True)
    # these refuse a temperature whatever they are told
    levels = ("none", "low", "medium", "high", "xhigh", "max")
    return Thinking(levels, by_itself=True, always=True, adaptive=True, forms=True)


def _of_openrouter(name: str) -> Thinking:
    maker, _, rest = name.partition("/")
    known = _of_openai(rest) if maker == "openai" else _NONE
    levels = ("low", "medium", "high", "max")
    if known.always or _ALWAYS_THINKS.match(name):
        return Thinking(levels, known.by_itself, always=True)
    return Thinking(("none", *levels), known.by_itself)
