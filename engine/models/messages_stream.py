"""Reads the events of Anthropic's messages, and what servers with that API make of them.

spec: @provider_streams
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.models.answer import Answer


def read_event(answer: Answer, event: Mapping[str, Any]) -> None:
    """Take one event. A whole message, as from a server that does not stream, is taken like its events.

    Raises `TypeError` for one that is not of this API. An event of a kind that is not known says nothing.
    """
    kind = event.get("type")
    if kind == "message_start" or kind == "message":
        _read_message(answer, event if kind == "message" else _object(event.get("message"), "a message"))
    elif kind == "content_block_start":
        _begin_block(answer, event.get("index"), _object(event.get("content_block"), "a block"))
    elif kind == "content_block_delta":
        _read_delta(answer, event.get("index"), _object(event.get("delta"), "a delta"))
    elif kind == "message_delta":
        answer.figures.take(event.get("usage"))
        _take_end(answer, _object(event.get("delta"), "a delta"))
    elif kind == "message_stop":
        answer.is_over = True


def _read_message(answer: Answer, message: Mapping[str, Any]) -> None:
    answer.figures.take(message.get("usage"))
    blocks = message.get("content")
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if isinstance(block, Mapping):
            _begin_block(answer, index, block)
    _take_end(answer, message)


def _begin_block(answer: Answer, index: Any, block: Mapping[str, Any]) -> None:
    if block.get("type") == "tool_use":
        call_id, known = _text(block.get("id")), answer.calls.at(_index(index))
        if call_id and known is not None and known.id == call_id:
            return  # said twice
        call = answer.calls.begin(_index(index), call_id, _text(block.get("name")))
        given = block.get("input")
        call.whole = given if isinstance(given, str) else json.dumps(given) if given else ""
        answer.hear_arguments(call, call.whole)
    else:
        _read_delta(answer, index, block)


def _read_delta(answer: Answer, index: Any, delta: Mapping[str, Any]) -> None:
    answer.think(_text(delta.get("thinking")))
    answer.say(_text(delta.get("text")))
    piece, call = _text(delta.get("partial_json")), answer.calls.at(_index(index))
    if call is not None and piece:
        call.add(piece)
        answer.hear_arguments(call, piece)


def _take_end(answer: Answer, place: Mapping[str, Any]) -> None:
    ended = place.get("stop_reason")
    if isinstance(ended, Mapping | list):
        raise TypeError("a stop reason that is not a word")
    if isinstance(ended, str) and ended.strip():
        answer.ended = ended


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} that is not an object")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _index(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
