"""Native tool calling: gives the engine's tools to a provider's API, and writes native calls as markup.

The file stores that markup as the response, and reads commands from it, as from a response that was written in markup.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.functions.compact import to_json
from engine.functions.markup.render import render_response
from engine.functions.schemas import arguments_schema, is_strictable, schema_anthropic, schema_openai
from engine.models.protocol import Completion, ToolSpec

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters


def response_text(completion: Completion, tools: str) -> str:
    """The response to store: an answer's text, then its calls as markup. `tools` is a JSON array of all tools' names."""
    calls = to_json([{"name": call.name, "arguments": call.arguments} for call in completion.calls])
    return render_response(completion.text, calls, tools) or ""


def library_parameters(tools: Sequence[ToolSpec], provider: str) -> ModelRequestParameters:
    """`tools` in the library's form for `provider`; for OpenAI's own API the schemas are strict that can be."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    definitions = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=_parameters(tool, provider),
            strict=_is_strict(tool, provider),
        )
        for tool in tools
    ]
    return ModelRequestParameters(function_tools=definitions)


def _parameters(tool: ToolSpec, provider: str) -> dict[str, Any]:
    if provider == "anthropic":
        found = json.loads(schema_anthropic(tool.name, tool.description, tool.schema) or "{}")["input_schema"]
    else:
        strict = int(_is_strict(tool, provider))
        function = json.loads(schema_openai(tool.name, tool.description, tool.schema, strict) or "{}")["function"]
        found = function["parameters"]
    schema: dict[str, Any] = found
    return schema


def _is_strict(tool: ToolSpec, provider: str) -> bool:
    return provider == "openai" and is_strictable(arguments_schema(tool.schema))
