"""Writes a request in the form of Anthropic's messages.

spec: @models_protocol
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from engine.functions.schemas import anthropic_form, schema_anthropic
from engine.models.cuts import blocks_of
from engine.models.model_options import taken_by, written
from engine.models.protocol import Message, Picture, Request
from engine.models.thinking import Thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.models.providers import Endpoint

PATH = "/v1/messages"
_VERSION = "2026-10-21"
_MAX_TOKENS = 8192
"""The API requires a limit for the answer; all of its models can write this many tokens."""
_THOUGHTS = 32_768
"""Tokens for thoughts, which count as part of the answer."""
_LEAST_THOUGHTS = 1024
_MARKS = 3
"""Cache marks of the messages and the tools: the API takes four, and one is for the system text."""
_MARK = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}


def messages_headers(at: Endpoint) -> dict[str, str]:
    """The headers that carry the key, and the version of the API."""
    return {"authorization": f"Bearer {at.key}", "anthropic-version": _VERSION}


def messages_request(request: Request, name: str, thinking: Thinking) -> dict[str, Any]:
    """The body of a request to the model `name`."""
    thinks = request.effort not in (None, "none")
    body: dict[str, Any] = {
        "model": name,
        "max_tokens": (request.max_tokens or _MAX_TOKENS) + (_THOUGHTS if thinks and not request.is_bounded else 0),
        "messages": _messages(request, _MARKS - bool(request.tools)),
        "stream": True,
    }
    if system := "\n\n".join(each.content for each in request.messages if each.role == "system" and each.content):
        body["system"] = [{"type": "text", "text": system, **_MARK}]
    if request.temperature is not None and thinking.takes_temperature(request.effort):
        body["temperature"] = request.temperature
    if request.tools:
        tools = [
            json.loads(schema_anthropic(each.name, each.description, each.schema) or "{}") for each in request.tools
        ]
        body |= {"tools": [*tools[:-1], tools[-1] | _MARK], "tool_choice": {"type": "auto"}}
    if request.options:
        body |= written(f"anthropic/{name}", request.options, taken_by("anthropic", True), "stop_sequences", thinking)
        if "top_p" in body:
            body.pop("temperature", None)  # its newer models take one of the two
    body |= _effort(request.effort, thinking)
    if request.is_bounded and "budget_tokens" in body.get("thinking", {}):
        body["thinking"] = _within(body["thinking"], body["max_tokens"])
    if request.tools and request.output and thinking.forms and (form := _form(json.loads(request.output))):
        body["output_config"] = body.get("output_config", {}) | {"format": {"type": "json_schema", "schema": form}}
    return body


def _form(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The form of an answer outside of tools, if it can be kept; as with OpenAI's API, of objects only."""
    return anthropic_form(schema) if schema.get("type") == "object" else None


def _effort(effort: str | None, thinking: Thinking) -> dict[str, Any]:
    level = thinking.nearest(effort)
    if effort is None or level is None:
        return {}
    if level == "none":
        return {"thinking": {"type": "disabled"}} if thinking.by_itself else {}
    if not thinking.adaptive:
        return {"thinking": {"type": "enabled", "budget_tokens": thinking.budget(effort)}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}


def _within(thinking: dict[str, Any], most: int) -> dict[str, Any]:
    """Thoughts that leave half of a bounded answer to its text; the API takes 1,024 tokens for them or none."""
    budget = min(thinking["budget_tokens"], most // 2)
    return {"type": "disabled"} if budget < _LEAST_THOUGHTS else thinking | {"budget_tokens": budget}


def _messages(request: Request, marks: int) -> list[dict[str, Any]]:
    """The messages but for the system's; those of one role that follow each other are one, as the API wants it."""
    result: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        pictures = request.pictures if message is request.messages[-1] else ()
        blocks = _blocks(message, marks, pictures)
        if result and result[-1]["role"] == message.role:
            result[-1]["content"] += blocks
        else:
            result.append({"role": message.role, "content": blocks})
    return result


def _blocks(message: Message, marks: int, pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    cut = blocks_of(message, marks) if message.role == "user" and message.cuts else [(message.content, False)]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text, **(_MARK if ends else {})} for text, ends in cut]
    for number, picture in enumerate(pictures, 1):
        source = {"type": "base64", "media_type": picture.media_type, "data": b64encode(picture.body).decode()}
        kind = "document" if picture.kind == "application" else "image"
        blocks += [{"type": "text", "text": f"Picture {number}:"}, {"type": kind, "source": source}]
    return blocks
