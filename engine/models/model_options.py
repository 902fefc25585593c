"""Which settings a provider's models take, and how they are written into its requests.

spec: @model_options
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.models.protocol import ModelError

if TYPE_CHECKING:
    from engine.models.thinking import Thinking

_TAKEN = {
    "openai": ("top_p", "stop", "seed", "service_tier", "extra_body"),
    "anthropic": ("top_p", "top_k", "stop", "service_tier", "extra_body"),
    "openrouter": ("top_p", "top_k", "stop", "seed", "service_tier", "extra_body"),
    "server": ("top_p", "top_k", "stop", "seed", "service_tier", "extra_body"),
    "ollama": ("top_p", "stop", "seed", "extra_body"),
    "google": ("top_p", "stop", "extra_body"),
    "xai": ("top_p", "stop", "seed", "extra_body"),
    "cerebras": ("top_p", "stop", "seed", "service_tier", "extra_body"),
}
"""The settings that providers document; a server at another address takes all."""
LOCAL = ("top_p", "top_k", "stop", "seed")
"""Those of a model in this process."""
ALWAYS = ("temperature", "max_output")
_SAMPLES = ("top_p", "top_k")


def taken_by(provider: str, is_own: bool) -> tuple[str, ...]:
    """The settings that a provider takes."""
    return _TAKEN.get(provider, _TAKEN["server"]) if is_own else _TAKEN["server"]


def refused(
    who: str, options: Mapping[str, Any], taken: tuple[str, ...], thinking: Thinking | None = None
) -> str | None:
    """Why a model does not take these settings; None where it does. One that always thinks takes no sampling."""
    given = [name for name, value in options.items() if value is not None and name not in ALWAYS]
    for name in given:
        if name not in taken:
            return f"model {who}: takes no {name}; leave it out. It takes {', '.join((*ALWAYS, *taken))}"
        if name in _SAMPLES and thinking is not None and thinking.always:
            return f"model {who}: takes no {name}, because it always thinks; leave it out"
    return None


def written(
    who: str, options: Mapping[str, Any], taken: tuple[str, ...], stop: str, thinking: Thinking
) -> dict[str, Any]:
    """The fields of a request; `stop` is the name of that field. Raises `ModelError` (invalid) for what is not taken."""
    if wrong := refused(who, options, taken, thinking):
        raise ModelError("invalid", wrong)
    fields = {stop if name == "stop" else name: value for name, value in options.items() if value is not None}
    if isinstance(fields.get(stop), str) and stop == "stop_sequences":
        fields[stop] = [fields[stop]]
    return fields | (fields.pop("extra_body", None) or {})
