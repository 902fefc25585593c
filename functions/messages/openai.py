"""The messages of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.functions.compact import from_json, to_json

from .items import (
    Answer,
    Call,
    Item,
    Prompt,
    Returned,
    System,
    a_list,
    a_name,
    a_text,
    an_object,
    shown,
    texts,
    wrong,
)

_TEXT = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


def read(messages: Sequence[Any]) -> Iterator[Item]:
    """The items of messages, in order."""
    for number, each in enumerate(messages):
        at = f"messages[{number}]"
        yield _item(an_object(each, at), at)


def _item(message: Mapping[str, Any], at: str) -> Item:
    role, content = message.get("role"), message.get("content")
    at = f"{at} ({role})" if isinstance(role, str) else at
    match role:
        case "system" | "developer":
            return System(at, texts(content, f"{at}.content", _TEXT))
        case "user":
            return Prompt(at, texts(content, f"{at}.content", _TEXT))
        case "assistant":
            calls = [
                _call(an_object(each, f"{at}.tool_calls[{place}]"), f"{at}.tool_calls[{place}]")
                for place, each in enumerate(a_list(message.get("tool_calls"), f"{at}.tool_calls"))
            ]
            said = content if content is not None else message.get("refusal")
            return Answer(at, texts(said, f"{at}.content", _TEXT), calls=calls)
        case "tool":
            called = a_text(message.get("tool_call_id"), f"{at}.tool_call_id")
            return Returned(at, called, texts(content, f"{at}.content", _TEXT))
    raise wrong(at, f"the role {shown(role)} is unknown; the roles are system, developer, user, assistant and tool")


def _call(call: Mapping[str, Any], at: str) -> Call:
    function = an_object(call.get("function"), f"{at}.function")
    given = a_text(function.get("arguments"), f"{at}.function.arguments")
    try:
        arguments = from_json(given or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise wrong(f"{at}.function.arguments", f"{given[:60]!r} is not a JSON object")
    return Call(at, a_text(call.get("id"), f"{at}.id"), a_name(function.get("name"), f"{at}.function.name"), arguments)


def write(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Messages of items."""
    for item in items:
        match item:
            case System():
                yield {"role": "system", "content": item.text}
            case Prompt():
                yield {"role": "user", "content": item.text}
            case Returned():
                yield {"role": "tool", "tool_call_id": item.id, "content": item.text}
            case Answer(calls=[]):
                yield {"role": "assistant", "content": item.text}
            case Answer():
                yield {
                    "role": "assistant",
                    "content": item.text or None,
                    "tool_calls": [
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {"name": call.name, "arguments": to_json(call.arguments)},
                        }
                        for call in item.calls
                    ],
                }
