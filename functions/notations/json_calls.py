"""Calls in JSON, without a wrapper: OpenAI's and Llama's objects and lists, `functools[…]` (Phi), `functions.get:0{…}`
(Kimi), `{"tool_name":…,"tool_input":…}`, `{"tool_uses":[…]}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import Grammar, skip_space
from engine.functions.notations.call_ends import NO_LIST_END, nothing_follows
from engine.functions.notations.notation import Answer, Reading
from engine.functions.notations.pythonic import FUNCTOOLS, tool_before
from engine.functions.notations.values import calls_in

_SEPARATOR = lazy_regex(r"\s*;\s*(?=[{\[]|\Z)")
_INDEX = lazy_regex(r"(?<=[A-Za-z_])[:#]\d{1,4}\s*\Z")


class JsonCalls:
    """A JSON object or list that stands in the text."""

    name = "json"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """A brace before a quote, a bracket before such a brace, a brace behind the name of a tool."""
        del grammar
        return {"{": r"\s*\"", "[": r"\s*\{\s*\""}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """Calls, data, or one of them without its end. None when it is ordinary text."""
        start = found.start()
        if start in answer.broken:
            return None  # the wrapper or list around it has reported the problem
        indexed = _indexed(answer, start)
        if indexed is not None:
            return indexed
        begin = start - len(FUNCTOOLS) if answer.text.endswith(FUNCTOOLS, 0, start) else start
        reading = json_calls(answer, begin, start, short=begin < start)
        reading.start = begin
        if reading.calls or reading.unknown:
            semicolon = _SEPARATOR.match(answer.text, reading.end) if reading.problem is None else None
            reading.end = semicolon.end() if semicolon and not reading.unknown else reading.end
            reading.claimed = answer.claims.json_end(start) if reading.problem else 0
            return reading
        value, end = answer.values.decoded(start)
        if end >= 0 and not answer.claims.is_broken_off(end):
            is_call = answer.claims.is_call(start, end) and not _is_schema(value)
            problem = "its notation is not read" if is_call else None
            return Reading(end, problem=problem, claimed=end, data=not is_call)
        if not answer.claims.calls_in_json(start):
            return None
        return Reading(start, problem=reading.problem or "it is not valid JSON", start=begin, claimed=len(answer.text))


def _indexed(answer: Answer, position: int) -> Reading | None:
    """The call `functions.get:0{…}` whose brace stands at `position`; None for any other."""
    if not answer.text[max(0, position - 8) : position].rstrip()[-1:].isdigit():
        return None
    index = _INDEX.search(answer.text, max(0, position - 8), position)
    name = tool_before(answer, index.start()) if index and answer.text[position] == "{" else None
    if index is None or name is None:
        return None
    value, end = answer.values.decoded(position)
    if end < 0 or answer.claims.is_broken_off(end):
        return Reading(
            position,
            problem="its arguments are not valid JSON",
            start=name[0],
            claimed=answer.claims.json_end(position),
        )
    reading = answer.named(answer.text[name[0] : index.start()], value, name[0], end)
    reading.start = name[0]
    return reading


def _is_schema(value: object) -> bool:
    """Is a JSON value the description of a tool rather than a call?"""
    return isinstance(value, dict) and ("description" in value or value.get("type") == "object")


def json_calls(answer: Answer, start: int, position: int, *, short: bool = False) -> Reading:
    """The calls of the JSON object or list at `position`; the text of the first begins at `start`.

    Items are read one by one: those before a broken item are kept. An item without a comma or bracket behind it is kept
    where nothing follows: an argument may have ended too early. With `short` an object may be `{"get": {…}}`.
    """
    text = answer.text
    if text[position] == "{":
        return _item(answer, start, position, short)
    reading, position = Reading(position), position + 1
    while True:
        position = skip_space(text, position)
        if text.startswith("]", position):
            reading.end = position + 1
            return reading
        item = _item(answer, start if not reading.calls else position, position, short)
        reading.unknown += item.unknown
        if not item.calls and not item.unknown:
            reading.problem = item.problem or "an item of its list holds no name and arguments"
            return reading
        ended = skip_space(text, item.end)
        is_last = not text.startswith((",", "]"), ended)
        if is_last and not nothing_follows(text, ended):
            reading.problem = NO_LIST_END
            return reading
        if is_last:
            reading.open_from = start if not reading.calls else position
        reading.calls += item.calls
        reading.end = ended
        if is_last:
            return reading
        position = ended + text.startswith(",", ended)


def _item(answer: Answer, start: int, position: int, short: bool) -> Reading:
    value, end = answer.values.decoded(position)
    if end < 0 or answer.claims.is_broken_off(end):
        answer.broken.add(position)
        return Reading(position, problem="it is not valid JSON")
    reading = Reading(end)
    for name, arguments in calls_in(value, answer.grammar.names if short else frozenset()):
        one = answer.named(_without_index(name), arguments, start, end)
        reading.calls += one.calls
        reading.unknown += one.unknown
    return reading


def _without_index(name: str) -> str:
    """`name` without the number that Kimi's names end in."""
    word, _, index = name.rpartition(":")
    return word if word and index.isdigit() else name
