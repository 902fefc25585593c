"""What models are told of the temperature and of how hard to think, by what is known of their names.

spec: @effort @provider_streams
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.values import EFFORTS
from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.models.chat_request import chat_request
from engine.models.messages_request import messages_request
from engine.models.protocol import Message, ModelError, Request
from engine.models.providers import endpoint
from engine.models.thinking import thinking_of

OWN = "OPENAI_BASE_URL"


def sent(model: str, effort: str | None, temperature: float | None = 0.3, **environment: str) -> dict[str, Any]:
    """The body of a request to a model with this effort, without the messages."""
    provider, _, name = model.partition("/")
    given = {PROVIDERS[provider].keys[0]: "k-123456789", **environment}
    at = endpoint(PROVIDERS[provider], Keys(environment=given))
    thinking = thinking_of(at, name)
    request = Request((Message("user", "Hi"),), temperature, None, None, 1.0, 0, "r", effort=effort)
    if provider == "anthropic":
        body = messages_request(request, name, thinking)
    else:
        body = chat_request(request, at, name, thinking)
    return {key: value for key, value in body.items() if key not in ("model", "messages", "stream", "stream_options")}


T = {"temperature": 0.3}


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("openai/gpt-4o", None, T),
        ("openai/gpt-4o", "none", T),
        ("openai/gpt-4.1-mini", None, T),
        ("openai/gpt-5", None, {}),
        ("openai/gpt-5", "none", {"reasoning_effort": "minimal"}),
        ("openai/gpt-5-mini", "max", {"reasoning_effort": "high"}),
        ("openai/gpt-5-chat-latest", None, T),
        ("openai/gpt-5.1", None, T),
        ("openai/gpt-5.1", "none", {"reasoning_effort": "none", **T}),
        ("openai/gpt-5.1", "minimal", {"reasoning_effort": "low"}),
        ("openai/gpt-5.1", "xhigh", {"reasoning_effort": "high"}),
        ("openai/gpt-5.2", "max", {"reasoning_effort": "xhigh"}),
        ("openai/gpt-5.2-pro", "low", {"reasoning_effort": "medium"}),
        ("openai/gpt-5.1-codex", "none", {"reasoning_effort": "low"}),
        ("openai/gpt-5.5", None, {}),
        ("openai/gpt-5.5", "none", {"reasoning_effort": "none", **T}),
        ("openai/o3-mini", "xhigh", {"reasoning_effort": "high"}),
        ("openrouter/openai/gpt-5", None, {}),
        ("openrouter/openai/gpt-5", "none", {"reasoning": {"effort": "low", "enabled": True}}),
        ("openrouter/x-ai/grok-4", "none", {"reasoning": {"effort": "none"}, **T}),
        ("openrouter/x-ai/grok-4", "minimal", {"reasoning": {"effort": "low", "enabled": True}}),
        ("openrouter/deepseek/deepseek-r1", "none", {"reasoning": {"effort": "low", "enabled": True}}),
        ("cerebras/gpt-oss-120b", "high", {"reasoning_effort": "high"}),
        ("cerebras/zai-glm-4.6", "none", {"reasoning_effort": "none", "clear_thinking": False, **T}),
        ("cerebras/zai-glm-4.6", "high", {"clear_thinking": False}),
        ("cerebras/llama3.3-70b", None, T),
        ("google/gemini-2.5-pro", "minimal", {"reasoning_effort": "minimal"}),
        ("ollama/qwen3", "none", {"reasoning_effort": "none", **T}),
        ("anthropic/claude-3-5-haiku-20241022", None, {"max_tokens": 8192, **T}),
        (
            "anthropic/claude-sonnet-4-20250514",
            "high",
            {"max_tokens": 40_960, "thinking": {"type": "enabled", "budget_tokens": 16_384}},
        ),
        ("anthropic/claude-sonnet-4-5", "none", {"max_tokens": 8192, **T}),
        (
            "anthropic/claude-opus-4-6",
            "xhigh",
            {"max_tokens": 40_960, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        ("anthropic/claude-opus-4-7", None, {"max_tokens": 8192}),
        ("anthropic/claude-sonnet-5", "none", {"max_tokens": 8192, "thinking": {"type": "disabled"}}),
    ],
)
def test_what_a_model_is_told(model: str, effort: str | None, expected: dict[str, Any]) -> None:
    assert sent(model, effort) == expected


def test_a_server_of_ones_own_is_told_what_was_said_but_no_temperature_that_openai_refuses() -> None:
    url = {OWN: "http://127.0.0.1:9/v1"}
    assert sent("openai/gpt-5", "none", **url) == {"reasoning_effort": "none"}
    assert sent("openai/mine", "max", **url) == {"reasoning_effort": "max"}
    assert sent("openai/mine", None, **url) == T


def test_a_name_of_openrouter_has_its_upstream_provider() -> None:
    with pytest.raises(ModelError, match="upstream provider"):
        sent("openrouter/tiny", None)


names = st.from_regex(r"(gpt-\d(\.\d)?|o\d|claude-[a-z]{1,6}-\d(-\d)?|[a-z]{1,8})(-[a-z0-9]{1,6})?", fullmatch=True)


@given(st.sampled_from(sorted(PROVIDERS)), names, st.sampled_from([None, *EFFORTS]))
def test_any_name_is_told_one_of_its_levels(provider: str, name: str, effort: str | None) -> None:
    at = endpoint(PROVIDERS[provider], Keys(environment={PROVIDERS[provider].keys[0]: "k-123456789"}))
    thinking = thinking_of(at, name)
    level = thinking.nearest(effort)
    assert level is None or level in thinking.levels
    assert (level is None) == (effort is None or not thinking.levels)
    if effort not in (None, "none") and len(thinking.levels) > 1:
        assert level != "none", "who is asked to think is not told to think of nothing"
    assert sorted(thinking.levels, key=EFFORTS.index) == [*thinking.levels]
