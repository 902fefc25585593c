"""Writes a request in the form of OpenAI's chat completions, which most providers and servers take.

spec: @models_protocol
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.functions.schemas import arguments_schema, is_strictable, schema_openai, strict_schema
from engine.models.cuts import blocks_of
from engine.models.model_options import taken_by, written
from engine.models.protocol import Message, ModelError, Picture, Request, ToolSpec
from engine.models.thinking import Thinking

if TYPE_CHECKING:
    from engine.models.providers import Endpoint

PATH = "/chat/completions"
_MARK = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
_MARKS = 3
"""Cache marks of the messages and the tools, if a model wants marks: Anthropic's take four, one for the system text."""


def chat_headers(at: Endpoint) -> dict[str, str]:
    """The headers that carry the key; servers that need none get a word in its place, as OpenAI's own library sends it."""
    return {"authorization": f"Bearer {at.key or 'none'}"}


def chat_request(request: Request, at: Endpoint, name: str, thinking: Thinking) -> dict[str, Any]:
    """The body of a request to the model `name`. Raises `ModelError` (invalid) for a name that the provider cannot have."""
    provider = at.provider.name
    if provider == "openrouter" and "/" not in name:
        said = "names of openrouter begin with the upstream provider, as in openrouter/openai/gpt-4o"
        raise ModelError("invalid", f"model 'openrouter/{name}': {said}")
    marks = _MARKS - bool(request.tools) if provider == "openrouter" and name.startswith("anthropic/") else 0
    body: dict[str, Any] = {
        "model": name,
        "messages": [*_messages(request, name, marks)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.temperature is not None and thinking.takes_temperature(request.effort):
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_tokens" if provider == "openrouter" else "max_completion_tokens"] = request.max_tokens
    body |= _effort(thinking.nearest(request.effort), provider)
    if request.options:
        body |= written(f"{provider}/{name}", request.options, taken_by(provider, at.is_own), "stop", thinking)
    if provider == "cerebras" and name.startswith("zai-glm"):
        body["clear_thinking"] = False  # what it thought in earlier turns is no part of the packet
        if body.get("reasoning_effort") != "none":
            body.pop("reasoning_effort", None)  # it thinks or it does not
    if request.grammar and provider in ("openai", "server") and not at.is_own:
        body["grammar"] = request.grammar  # llama.cpp's server takes GBNF; the providers' own APIs refuse the field
    if request.tools:
        tools = [_tool(tool, provider) for tool in request.tools]
        body |= {"tools": [*tools[:-1], tools[-1] | (_MARK if marks else {})], "tool_choice": "auto"}
        if request.output and provider == "openai" and at.is_own:
            body |= _form(json.loads(request.output))
    return body


def _form(schema: dict[str, Any]) -> dict[str, Any]:
    """The form of an answer outside of tools, if it can be kept strictly; the API takes objects only."""
    told = {key: value for key, value in schema.items() if key != "$comment"}
    named = {"name": "answer", "strict": True, "schema": strict_schema(told)}
    is_form = schema.get("type") == "object" and is_strictable(schema)
    return {"response_format": {"type": "json_schema", "json_schema": named}} if is_form else {}


def _effort(level: str | None, provider: str) -> dict[str, Any]:
    if level is None:
        return {}
    if provider != "openrouter":
        return {"reasoning_effort": level}
    return {"reasoning": {"effort": level} | ({} if level == "none" else {"enabled": True})}


def _messages(request: Request, name: str, marks: int) -> Iterator[dict[str, Any]]:
    last_system = next((each for each in reversed(request.messages) if each.role == "system"), None)
    for message in request.messages:
        role, content = message.role, _content(message, request, marks)
        if role == "system" and name.startswith(("o1-mini", "o1-preview")):
            role = "user"  # they have no other
        if marks and message is last_system:
            content = [{"type": "text", "text": message.content, **_MARK}]
        yield {"role": role, "content": content}


def _content(message: Message, request: Request, marks: int) -> str | list[Mapping[str, Any]]:
    """A text; in blocks with cache marks if the model wants them. Pictures stand behind the last message, with numbers."""
    pictures = request.pictures if message is request.messages[-1] else ()
    cached = bool(marks and message.cuts and message.role == "user")
    if not cached and not pictures:
        return message.content
    parts: list[Mapping[str, Any]] = []
    for text, ends in blocks_of(message, marks) if cached else [(message.content, False)]:
        parts.append({"type": "text", "text": text, **(_MARK if ends else {})})
    for number, picture in enumerate(pictures, 1):
        parts += [{"type": "text", "text": f"Picture {number}:"}, _file(picture, number)]
    return parts


def _file(picture: Picture, number: int) -> dict[str, Any]:
    """A picture, a PDF or a sound as a part of a message."""
    data = b64encode(picture.body).decode()
    url = f"data:{picture.media_type};base64,{data}"
    match picture.kind:
        case "audio":
            form = "wav" if picture.media_type == "audio/wav" else "mp3"
            return {"type": "input_audio", "input_audio": {"data": data, "format": form}}
        case "application":
            return {"type": "file", "file": {"filename": f"{number}.pdf", "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def _tool(tool: ToolSpec, provider: str) -> dict[str, Any]:
    """A tool; at OpenAI's API its schema is strict if it can be."""
    strict = provider == "openai" and is_strictable(arguments_schema(tool.schema))
    written: dict[str, Any] = json.loads(schema_openai(tool.name, tool.description, tool.schema, int(strict)) or "{}")
    if not strict:
        del written["function"]["strict"]
    return written
