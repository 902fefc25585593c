"""Reads the events of OpenAI's chat completions, and what servers with that API make of them.

spec: @provider_streams
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engine.models.answer import Answer

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


def read_chunk(answer: Answer, chunk: Mapping[str, Any]) -> None:
    """Take one chunk. A whole completion, as from a server that does not stream, is taken like a chunk.

    Raises `TypeError` for one that is not of this API.
    """
    answer.figures.take(_own_usage(chunk))
    answer.figures.take_cost(chunk.get("cost"))
    for choice in _list(chunk.get("choices"), "choices"):
        if _index(choice.get("index")) not in (None, 0):
            continue  # other answers to the same prompt, which nobody asked for
        answer.figures.take(choice.get("usage"))
        _read_choice(answer, choice)


def _own_usage(chunk: Mapping[str, Any]) -> Any:
    """The usage of a chunk; some hosts put it below a name of their own."""
    of_host = chunk.get("x_groq")
    return chunk.get("usage") or (of_host.get("usage") if isinstance(of_host, Mapping) else None)


def _read_choice(answer: Answer, choice: Mapping[str, Any]) -> None:
    delta = choice.get("delta")
    if delta is None:
        # the whole message, from a server that does not stream; behind a streamed one it says nothing new
        delta = {} if answer.has_text or answer.calls.all else choice.get("message") or {}
    if not isinstance(delta, Mapping):
        raise TypeError("a delta that is not a JSON object")
    answer.think(next(_thoughts(delta), ""))
    _read_content(answer, delta.get("content"))
    if refusal := delta.get("refusal"):
        answer.say(str(refusal))
        answer.ended = "refusal"
    _read_calls(answer, delta)
    ended = choice.get("finish_reason")
    if isinstance(ended, Mapping | list):
        raise TypeError("a finish reason that is not a word")
    if isinstance(ended, str) and ended.strip() and answer.ended != "refusal":
        answer.ended = ended


def _thoughts(delta: Mapping[str, Any]) -> Iterator[str]:
    """The thoughts of a delta; where it has them under two names, they are the same."""
    yield from (value for name in _THOUGHTS if isinstance(value := delta.get(name), str) and value)
    details = delta.get("reasoning_details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(text := detail.get("text") or detail.get("summary"), str):
            yield text


def _read_content(answer: Answer, content: Any) -> None:
    """A text, or a list of parts with texts and thoughts."""
    if isinstance(content, str):
        answer.say(content)
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            answer.say(part)
        elif isinstance(part, Mapping):
            _read_part(answer, part)


def _read_part(answer: Answer, part: Mapping[str, Any]) -> None:
    thoughts = part.get("thinking")
    for each in thoughts if isinstance(thoughts, list) else [thoughts]:
        text = each.get("text") if isinstance(each, Mapping) else each
        if isinstance(text, str):
            answer.think(text)
    if isinstance(text := part.get("text"), str):
        answer.say(text)


def _read_calls(answer: Answer, delta: Mapping[str, Any]) -> None:
    for piece in _list(delta.get("tool_calls"), "calls"):
        function = piece.get("function")
        _read_call(answer, piece, function if isinstance(function, Mapping) else {})
    if isinstance(function := delta.get("function_call"), Mapping):  # as before there were several
        _read_call(answer, {"index": 0}, function)


def _read_call(answer: Answer, piece: Mapping[str, Any], function: Mapping[str, Any]) -> None:
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
    answer.call(_index(piece.get("index")), _word(piece.get("id")), _word(function.get("name")), text)


def _list(value: Any, what: str) -> list[Mapping[str, Any]]:
    """A list of objects; nothing for null. What is null in it is passed over."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(each is None or isinstance(each, Mapping) for each in value):
        raise TypeError(f"{what} that are not a list of objects")
    return [each for each in value if each is not None]


def _index(value: Any) -> int | None:
    """An index, which some servers write as text or leave out."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
