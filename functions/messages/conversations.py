"""Conversations as the engine keeps them: prompts, each with its turns, each with its calls and what came of these.

A conversation is JSON: ``{"system", "prompts": [{"text", "turns": [{"text", "thoughts", "calls": [{"id", "name",
"arguments", "told", "failed"}]}]}]}``. `told` is what the log says of a call: the call as a line, and what was returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from engine.errors import ValidationError
from engine.functions.compact import from_json, to_json

from . import anthropic, openai, pydantic_ai
from .items import Answer, Call, Item, Prompt, Returned, System, clean, wrong

_FORMS: dict[str, tuple[Callable[[Sequence[Any]], Iterator[Item]], Callable[[Iterable[Item]], Iterator[Any]]]] = {
    "openai": (openai.read, openai.write),
    "anthropic": (anthropic.read, anthropic.write),
    "pydantic_ai": (pydantic_ai.read, pydantic_ai.write),
}
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


def messages_read(messages: str | None, form: str | None) -> str | None:
    """The conversation of `messages`, a JSON array in one of the forms, or an object that has it as ``messages``.

    A NULL form is told by the messages. NULL for NULL. Raises `ValidationError` (400), which names the message and says
    what is wrong with it.
    """
    if messages is None:
        return None
    try:
        given = from_json(messages)
    except ValueError as error:
        raise ValidationError(f"messages: not JSON ({error}); nothing was imported") from None
    system = given.get("system") if isinstance(given, dict) else None
    listed = given.get("messages") if isinstance(given, dict) else given
    if not isinstance(listed, list) or not listed:
        raise ValidationError("messages: must be a list of messages; nothing was imported")
    head = [{"role": "system", "content": system}] if system else []
    chosen = form or _form_of(listed)
    items = _items_of(chosen, head, listed)
    return to_json(_conversation(items))


def messages_write(items: str | None, form: str | None) -> str | None:
    """The messages of a form, as JSON, of a run's `items`: JSON rows of ``role, body, calls, id, failed``. NULL for NULL."""
    if items is None or form is None:
        return None
    _check_form(form)
    return to_json([*_FORMS[form][1](map(_item, from_json(items)))])


def _items_of(form: str, head: list[Any], listed: list[Any]) -> Iterator[Item]:
    _check_form(form)
    read = _FORMS[form][0]
    if head:
        yield from (System("system", each.text) for each in anthropic.read(head) if isinstance(each, System))
    yield from read(listed)


def _check_form(form: str) -> None:
    if form not in _FORMS:
        raise ValidationError(f"form {form!r}: unknown; the forms are {', '.join(_FORMS)}")


def _form_of(messages: list[Any]) -> str:
    first = messages[0]
    if isinstance(first, dict) and "kind" in first and "parts" in first:
        return "pydantic_ai"
    contents = [each.get("content") for each in messages if isinstance(each, dict)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    if any(isinstance(block, dict) and block.get("type") in _BLOCKS for block in blocks):
        return "anthropic"
    return "openai"


def _item(row: dict[str, Any]) -> Item:
    body = row["body"] or ""
    match row["role"]:
        case "system":
            return System("", body)
        case "user":
            return Prompt("", body)
        case "tool":
            return Returned("", row["id"], body, bool(row["failed"]))
    calls = [Call("", each["id"], each["name"], each["arguments"]) for each in row["calls"] or []]
    return Answer("", body, calls=calls)


class _Folded:
    """Folds items into prompts, and checks their order."""

    def __init__(self) -> None:
        self.system: list[str] = []
        self.prompts: list[dict[str, Any]] = []
        self._open: dict[str, tuple[dict[str, Any], str]] = {}

    def add(self, item: Item) -> None:
        match item:
            case Returned():
                self._return(item)
                return
            case _ if self._open:
                call_id, (_, at) = next(iter(self._open.items()))
                raise wrong(item.at, f"comes before the result of the call {call_id[:60]!r} in {at}")
            case System():
                if self.prompts:
                    raise wrong(item.at, "a system message can only stand before the first message of the user")
                self.system.append(item.text)
            case Prompt():
                self._ask(item)
            case Answer():
                self._answer(item)

    def _ask(self, item: Prompt) -> None:
        if not item.text.strip():
            raise wrong(item.at, "is empty")
        if self.prompts and not self.prompts[-1]["turns"]:
            self.prompts[-1]["text"] += "\n\n" + item.text
        else:
            self.prompts.append({"text": item.text, "turns": []})

    def _answer(self, item: Answer) -> None:
        if not self.prompts:
            raise wrong(item.at, "comes before any message of the user; leave it out")
        calls = []
        for call in item.calls:
            if call.id in self._open:
                raise wrong(call.at, f"two calls have the id {call.id[:60]!r}")
            given = clean(call.arguments)
            line = f"{call.name}({', '.join(f'{_key(key)}={_shown(value)}' for key, value in given.items())})"
            kept = {"id": call.id, "name": call.name, "arguments": given, "told": line, "failed": False}
            self._open[call.id] = kept, call.at
            calls.append(kept)
        if calls or item.text.strip():
            turn = {"text": item.text, "thoughts": item.thoughts or None, "calls": calls}
            self.prompts[-1]["turns"].append(turn)

    def _return(self, item: Returned) -> None:
        if item.id not in self._open:
            raise wrong(item.at, f"no call before it that waits for a result has the id {item.id[:60]!r}")
        call, _ = self._open.pop(item.id)
        call["told"] += "\n" + item.text
        call["failed"] = item.failed

    def end(self) -> None:
        """Nothing may be left open, and somebody must have said something."""
        for call_id, (_, at) in self._open.items():
            raise wrong(at, f"the call {call_id[:60]!r} has no result")
        if not self.prompts:
            raise ValidationError("messages: no message is from the user; nothing was imported")


def _conversation(items: Iterable[Item]) -> dict[str, Any]:
    folded = _Folded()
    for item in items:
        folded.add(item)
    folded.end()
    return {"system": "\n\n".join(folded.system) or None, "prompts": folded.prompts}


def _key(key: str) -> str:
    return key if key.isidentifier() else _shown(key)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
