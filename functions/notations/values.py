"""The values that calls are written in: JSON, and the looser notation of the Gemma family."""

from __future__ import annotations

import json

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import skip_space

_KEY = lazy_regex(r"[\s,]*[\"']?([\w.-]+)[\"']?\s*:\s*")
_STRING = lazy_regex(r"<escape>|<\|\"\|>|'")
_RAW = lazy_regex(r"[^,}\]<]*")
# What cannot be an object: its first text is no key. An error of the decoder costs more.
_NO_KEY = lazy_regex(r"\{\s{0,80}\"[^\"\\]{0,80}\"\s{0,80}[^\s:]")
_DECODER = json.JSONDecoder(strict=False)
_WORDS = {"null": None, "none": None, "true": True, "false": False}
# How deep calls may be wrapped: a list of tool_calls of functions, and one level more.
_DEEPEST = 5
_DEEPEST_VALUE = 20
_WINDOW = 4096
_WRAPPERS = ("tool_calls", "tool_uses", "toolcalls", "function", "function_call", "tool_call")
_NAMES = (
    *("name", "function", "tool", "tool_name", "function_name", "recipient_name", "recipient", "action", "toolname"),
    *("api", "method"),
)
_ARGUMENTS = (
    *("arguments", "parameters", "input", "args", "tool_input", "action_input", "params", "kwargs", "toolinput"),
)


class Values:
    """Reads values in one text, from left to right. It does not try again where JSON was broken once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._barren = 0
        self._latest: tuple[int, object, int] = (-1, None, -1)

    def decoded(self, position: int) -> tuple[object, int]:
        """The JSON value at `position` and where it ends; (None, -1) when there is none."""
        if position < self._barren or not self.text.startswith(("{", "["), position):
            return None, -1
        if self._latest[0] == position:
            return self._latest[1:]
        if _NO_KEY.match(self.text, position):
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
            except (RecursionError, ValueError):  # ValueError: a number of thousands of digits
                self._barren = len(self.text)
            else:
                self._latest = (position, value, position + end)
                return value, position + end
            return None, -1

    def loose_object(self, position: int, depth: int = 0) -> tuple[object, int]:
        """`key:value,…}`, keys unquoted, strings between `<escape>` or `<|"|>`; and where it ends, or -1."""
        values = dict[str, object]()
        while depth < _DEEPEST_VALUE and (key := _KEY.match(self.text, position)):
            values[key[1]], position = self._loose_value(key.end(), depth + 1)
            if position < 0:
                return None, -1
        position = skip_space(self.text, position)
        return values, position + 1 if self.text.startswith("}", position) else -1

    def _loose_value(self, position: int, depth: int) -> tuple[object, int]:
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
        if text.startswith("{", position):
            return self.loose_object(position + 1, depth)
        if text.startswith("[", position):
            return self._loose_list(position + 1, depth)
        raw = _RAW.match(text, position)
        end = raw.end() if raw else position
        word = text[position:end].strip()
        return _WORDS.get(word.lower(), word), end

    def _loose_list(self, position: int, depth: int) -> tuple[object, int]:
        items = list[object]()
        while depth < _DEEPEST_VALUE:
            position = skip_space(self.text, position)
            if self.text.startswith("]", position):
                return items, position + 1
            if position >= len(self.text) or self.text[position] == "}":
                break
            begin = position
            item, position = self._loose_value(begin, depth + 1)
            if position <= begin:
                break
            items.append(item)
            position = skip_space(self.text, position)
            position += self.text.startswith(",", position)
        return None, -1


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    """Can the error come from the end of the part that was tried?"""
    return error.pos > length - 16 or error.msg.startswith("Unterminated string")


def _is_schema(value: object) -> bool:
    """Is `value` the schema of a tool's arguments, not arguments?"""
    return isinstance(value, dict) and value.get("type") == "object" and "properties" in value


def calls_in(value: object, tools: frozenset[str] = frozenset(), depth: int = 0) -> list[tuple[str, object]]:
    """The names and arguments of the calls in a JSON value, in any of the forms in use.

    With `tools` also the form `{"get": {…}}`, whose key is one of them.
    """
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        return [call for item in value for call in calls_in(item, tools, depth + 1)]
    if not isinstance(value, dict):
        return []
    given = {str(key).lower(): item for key, item in value.items()}
    for wrapper in _WRAPPERS:
        if isinstance(given.get(wrapper), dict | list):
            return calls_in(given[wrapper], tools, depth + 1)
    name = next((given[key] for key in _NAMES if isinstance(given.get(key), str)), None)
    for key in _ARGUMENTS:
        if name and isinstance(given.get(key), dict | str) and not _is_schema(given[key]):
            return [(name, given[key])]
    if len(given) == 1 and (short := next(iter(given))) in tools and isinstance(given[short], dict):
        return [(short, given[short])]
    return []
