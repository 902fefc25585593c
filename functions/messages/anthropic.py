"""The messages of Anthropic's API, in which results of tools are parts of what the user says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

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

_TEXT = {"text": "text"}


def read(messages: Sequence[Any]) -> Iterator[Item]:
    """The items of messages, in order."""
    for number, each in enumerate(messages):
        message = an_object(each, f"messages[{number}]")
        role, content = message.get("role"), message.get("content")
        at = f"messages[{number}] ({role})" if isinstance(role, str) else f"messages[{number}]"
        if role == "user":
            yield from _of_user(content, at)
        elif role == "assistant":
            yield _of_model(content, at)
        elif role == "system":
            yield System(at, texts(content, f"{at}.content", _TEXT))
        else:
            raise wrong(at, f"the role {shown(role)} is unknown; the roles are user, assistant and system")


def _of_user(content: Any, at: str) -> Iterator[Item]:
    said = []
    blocks = [content] if isinstance(content, str) else a_list(content, f"{at}.content")
    for place, each in enumerate(blocks):
        here = f"{at}.content[{place}]" if blocks is content else f"{at}.content"
        if isinstance(each, Mapping) and each.get("type") == "tool_result":
            text = texts(each.get("content"), f"{here}.content", _TEXT)
            yield Returned(
                here, a_text(each.get("tool_use_id"), f"{here}.tool_use_id"), text, bool(each.get("is_error"))
            )
        else:
            said.append(texts(each if isinstance(each, str) else [an_object(each, here)], here, _TEXT))
    if said or not blocks:
        yield Prompt(at, "\n\n".join(said))


def _of_model(content: Any, at: str) -> Answer:
    said, thoughts, calls = [], [], []
    blocks = [content] if isinstance(content, str) else a_list(content, f"{at}.content")
    for place, each in enumerate(blocks):
        here = f"{at}.content[{place}]" if blocks is content else f"{at}.content"
        block = {"type": "text", "text": each} if isinstance(each, str) else an_object(each, here)
        match block.get("type"):
            case "text":
                said.append(a_text(block.get("text"), f"{here}.text"))
            case "thinking":
                thoughts.append(a_text(block.get("thinking"), f"{here}.thinking"))
            case "redacted_thinking":
                pass
            case "tool_use":
                given = an_object(block.get("input"), f"{here}.input")
                calls.append(
                    Call(here, a_text(block.get("id"), f"{here}.id"), a_name(block.get("name"), f"{here}.name"), given)
                )
            case other:
                raise wrong(here, f"has the type {shown(other)}; only text and calls of tools can be imported")
    return Answer(at, "\n\n".join(said), "\n\n".join(thoughts), calls)


def write(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Messages of items. The system text is no message of this API: it is the field `system` of a request."""
    waiting: list[dict[str, Any]] = []
    for item in items:
        match item:
            case Returned():
                waiting.append(_result(item))
            case Prompt():
                yield {"role": "user", "content": [*waiting, _text(item.text)] if waiting else item.text}
                waiting = []
            case Answer():
                if waiting:
                    yield {"role": "user", "content": waiting}
                waiting = []
                yield {"role": "assistant", "content": _blocks(item) if item.calls else item.text}
    if waiting:
        yield {"role": "user", "content": waiting}


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in answer.calls]
    return [*([_text(answer.text)] if answer.text else []), *calls]


def _result(item: Returned) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": item.id, "content": item.text}
    return result | ({"is_error": True} if item.failed else {})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
