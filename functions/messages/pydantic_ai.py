"""The messages of pydantic-ai, as its `ModelMessagesTypeAdapter` writes and reads them."""

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


def read(messages: Sequence[Any]) -> Iterator[Item]:
    """The items of messages, in order."""
    for number, each in enumerate(messages):
        message = an_object(each, f"messages[{number}]")
        kind = message.get("kind")
        at = f"messages[{number}] ({kind})" if isinstance(kind, str) else f"messages[{number}]"
        parts = [
            (an_object(part, f"{at}.parts[{place}]"), f"{at}.parts[{place}]")
            for place, part in enumerate(a_list(message.get("parts"), f"{at}.parts"))
        ]
        if kind == "request":
            if number == 0 and message.get("instructions"):
                yield System(f"{at}.instructions", a_text(message["instructions"], f"{at}.instructions"))
            for part, here in parts:
                yield _of_request(part, here)
        elif kind == "response":
            yield _of_response(parts, at)
        else:
            raise wrong(at, f"the kind {shown(kind)} is unknown; the kinds are request and response")


def _of_request(part: Mapping[str, Any], at: str) -> Item:
    content = part.get("content")
    match part.get("part_kind"):
        case "system-prompt":
            return System(at, a_text(content, f"{at}.content"))
        case "user-prompt":
            return Prompt(at, texts(content, f"{at}.content", {}))
        case "tool-return":
            return Returned(
                at,
                a_text(part.get("tool_call_id"), f"{at}.tool_call_id"),
                _text_of(content),
                part.get("outcome") == "failed",
            )
        case "retry-prompt" if part.get("tool_name"):
            return Returned(at, a_text(part.get("tool_call_id"), f"{at}.tool_call_id"), _text_of(content), failed=True)
        case "retry-prompt":
            return Prompt(at, _text_of(content))
        case other:
            raise wrong(at, f"the part {shown(other)} of a request cannot be imported")


def _of_response(parts: Sequence[tuple[Mapping[str, Any], str]], at: str) -> Answer:
    said, thoughts, calls = [], [], []
    for part, here in parts:
        match part.get("part_kind"):
            case "text":
                said.append(a_text(part.get("content"), f"{here}.content"))
            case "thinking":
                thoughts.append(a_text(part.get("content"), f"{here}.content"))
            case "tool-call":
                name = a_name(part.get("tool_name"), f"{here}.tool_name")
                called = a_text(part.get("tool_call_id"), f"{here}.tool_call_id")
                calls.append(Call(here, called, name, _arguments(part.get("args"), f"{here}.args")))
            case other:
                raise wrong(here, f"the part {shown(other)} of a response cannot be imported")
    return Answer(at, "\n\n".join(said), "\n\n".join(thoughts), calls)


def _arguments(given: Any, at: str) -> Mapping[str, Any]:
    try:
        arguments = from_json(given or "{}") if isinstance(given, str) else given or {}
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise wrong(at, f"{shown(given)} is not a JSON object")
    return arguments


def _text_of(value: Any) -> str:
    """What a tool returned as the model reads it: a text, or JSON."""
    return value if isinstance(value, str) else to_json(value)


def write(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Messages of items: what stands between two answers is one request."""
    names: dict[str, str] = {}
    waiting: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Answer):
            if waiting:
                yield {"kind": "request", "parts": waiting}
            waiting = []
            names |= {call.id: call.name for call in item.calls}
            yield {"kind": "response", "parts": [*_parts(item)]}
        else:
            waiting.append(_part(item, names))
    if waiting:
        yield {"kind": "request", "parts": waiting}


def _parts(answer: Answer) -> Iterator[dict[str, Any]]:
    if answer.text:
        yield {"part_kind": "text", "content": answer.text}
    for call in answer.calls:
        yield {"part_kind": "tool-call", "tool_name": call.name, "args": call.arguments, "tool_call_id": call.id}


def _part(item: System | Prompt | Returned, names: Mapping[str, str]) -> dict[str, Any]:
    match item:
        case System():
            return {"part_kind": "system-prompt", "content": item.text}
        case Prompt():
            return {"part_kind": "user-prompt", "content": item.text}
    kind = "retry-prompt" if item.failed else "tool-return"
    return {"part_kind": kind, "tool_name": names.get(item.id, ""), "content": item.text, "tool_call_id": item.id}
