"""Native tool calling: writes native calls as markup.

The file stores that markup as the response, and reads commands from it, as from a response that was written in markup.
"""

from __future__ import annotations

from engine.functions.compact import to_json
from engine.functions.markup.render import render_response
from engine.models.protocol import Completion


def response_text(completion: Completion, tools: str) -> str:
    """The response to store: an answer's text, then its calls as markup. `tools` is a JSON array of all tools' names."""
    calls = to_json([{"name": call.name, "arguments": call.arguments} for call in completion.calls])
    return render_response(completion.text, calls, tools) or ""
