"""The values that foreign tool calls are written in: JSON, and the looser notation of the Gemma family."""

from __future__ import annotations

import json

from engine.functions.lazy import lazy_regex
from engine.functions.markup_grammar import skip_space

_KEY = lazy_regex(r"[\s,]*[\"']?([\w.-]+)[\"']?\s*:\s*")
_STRING = lazy_regex(r"<escape>|<\|\"\|>|'")
_RAW = lazy_regex(r"[^,}\]<]*")
_DECODER = json.JSONDecoder(strict=False)
# How deep calls may be wrapped: a list of tool_calls of functions, and one level more.
_DEEPEST = 5
_WINDOW = 4096


class Values:
    """Reads values in one text, from left to right. It does not try again where JSON was broken once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._barren = 0

    def decoded(self, position: int) -> tuple[object, int]:
        """The JSON value at `position` and where it ends; (None, -1) when there is none."""
        if position < self._barren or not self.text.startswith(("{", "["), position):
            return None, -1
        # An error takes time proportional to the text it is in: try a part before the whole.
        window = _WINDOW
        while True:
            part = self.text[position : position + window]
            try:
                value, end = _DECODER.raw_decode(part)
            except json.JSONDecodeError as error:
                if position + window < len(self.text) and _may_be_cut(error, len(part)):
                    window *= 8
                    continue
                self._barren = position + error.pos
            except RecursionError:
                self._barren = len(self.text)
            else:
                return value, position + end
            return None, -1

    def loose_object(self, position: int) -> tuple[object, int]:
        """`key:value,…}`, keys unquoted, strings between `<escape>` or `<|"|>`; and where it ends, or -1."""
        values = dict[str, object]()
        while key := _KEY.match(self.text, position):
            values[key[1]], position = self._loose_value(key.end())
            if position < 0:
                return None, -1
        position = skip_space(self.text, position)
        return values, position + 1 if self.text.startswith("}", position) else -1

    def _loose_value(self, position: int) -> tuple[object, int]:
        text = self.text
        delimiter = _STRING.match(text, position)
        if delimiter:
            end = text.find(delimiter[0], delimiter.end())
            return text[delimiter.end() : end], end + len(delimiter[0]) if end >= 0 else -1
        if text.startswith('"', position):
            try:
                return _DECODER.raw_decode(text, position)
            except ValueError:
                return None, -1
        if text.startswith("[", position):
            return self._loose_list(position + 1)
        raw = _RAW.match(text, position)
        end = raw.end() if raw else position
        return text[position:end].strip(), end

    def _loose_list(self, position: int) -> tuple[object, int]:
        items = list[object]()
        while True:
            position = skip_space(self.text, position)
            if self.text.startswith("]", position):
                return items, position + 1
            if position >= len(self.text) or self.text[position] in "[}":
                return None, -1  # lists in lists are in no tool's arguments
            begin = position
            item, position = self._loose_value(begin)
            if position <= begin:
                return None, -1
            items.append(item)
            position = skip_space(self.text, position)
            position += self.text.startswith(",", position)


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    """Can the error come from the end of the part that was tried?"""
    return error.pos > length - 16 or error.msg.startswith("Unterminated string")


def calls_in(value: object, depth: int = 0) -> list[tuple[str, object]]:
    """The names and arguments of the calls in a JSON value, in any of the forms in use."""
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        return [call for item in value for call in calls_in(item, depth + 1)]
    if not isinstance(value, dict):
        return []
    for wrapper in ("tool_calls", "function", "function_call"):
        if isinstance(value.get(wrapper), dict | list):
            return calls_in(value[wrapper], depth + 1)
    name = next((value[key] for key in ("name", "function", "tool") if isinstance(value.get(key), str)), None)
    for key in ("arguments", "parameters", "input", "args"):
        if name and isinstance(value.get(key), dict | str):
            return [(name, value[key])]
    return []
