"""An answer while the model writes it: as much of its JSON as is there.

spec: @partial_answers
"""

from __future__ import annotations

from typing import Any

from engine.functions.lazy import lazy_regex

from .values import NoValue, value_of

NOTHING = object()
"""There is no value yet."""
_UPDATE = lazy_regex(r"<update\b[^<>]*>")
_OPENING = lazy_regex(r"\s*(?:```[a-zA-Z]*[ \t]*\n)?\s*")
_CLOSERS = {"{": "}", "[": "]"}


def partial_value(response: str) -> Any:
    """The object or list that a response holds so far, in its last update or else outside of one; `NOTHING` without one.

    A text that is still being written is there as far as it goes; a key without a value and half a number are not.
    """
    begun = [found.end() for found in _UPDATE.finditer(response)]
    text = response[begun[-1] if begun else 0 :].partition("</update")[0]
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    if text[start : start + 1] not in ("{", "["):
        return NOTHING
    return _first_value(text[start:])


def partial_body(arguments: str) -> Any:
    """The object or list that the `body` of a native update holds so far; `arguments` is the JSON that has arrived."""
    body = _first_value(arguments.lstrip())
    body = body.get("body", NOTHING) if isinstance(body, dict) else NOTHING
    if isinstance(body, str):
        return partial_value(body)
    return body if isinstance(body, dict | list) else NOTHING


def _first_value(text: str) -> Any:
    for attempt in _completed(text):
        try:
            return value_of(attempt)
        except NoValue:
            continue
    return NOTHING


def _completed(text: str) -> list[str]:
    """Texts that may be the JSON so far, the one that says most first."""
    stack: list[str] = []
    in_text = escaped = False
    safe, closing = 0, ""
    for place, mark in enumerate(text):
        if in_text:
            in_text = escaped or mark != '"'
            escaped = not escaped and mark == "\\"
        elif mark == '"':
            in_text = True
        elif mark in "{[":
            stack.append(_CLOSERS[mark])
            safe, closing = place + 1, _ends(stack)
        elif mark in "}]":
            if not stack or stack.pop() != mark:
                return []
            safe, closing = place + 1, _ends(stack)
            if not stack:
                return [text[:safe]]
        elif mark == ",":
            safe, closing = place, _ends(stack)
    attempts = [text[:safe] + closing]
    if not in_text and text.rstrip().endswith('"'):
        attempts.insert(0, text + _ends(stack))
    elif in_text:
        whole = text[: text.rfind("\\")] if escaped or _half_escape(text) else text
        attempts.insert(0, whole + '"' + _ends(stack))
    return attempts


def _half_escape(text: str) -> bool:
    """Whether a text ends inside an escape such as \\u00e9."""
    at = text.rfind("\\u", -6)
    return at >= 0 and len(text) - at < 6


def _ends(stack: list[str]) -> str:
    return "".join(reversed(stack))
