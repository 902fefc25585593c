"""Kimi K3's calls: `<|open|>call tool="get" index="1"<|sep|>`, arguments in the same form, `<|close|>call<|sep|>`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, Grammar
from engine.functions.markup.tags import decode_entities
from engine.functions.notations.call_ends import Behind
from engine.functions.notations.notation import Answer, Reading
from engine.functions.notations.scalars import argument

_CALL = lazy_regex(r"<\|open\|>call\s(?P<attributes>[^<>]{0,400})<\|sep\|>", FLAGS)
_ARGUMENT = lazy_regex(r"\s*<\|open\|>argument\s(?P<attributes>[^<>]{0,400})<\|sep\|>", FLAGS)
_ATTRIBUTE = lazy_regex(r"(\w+)\s*=\s*\"([^\"]*)\"")
_ARGUMENT_END = "<|close|>argument<|sep|>"
_OPENS = lazy_regex(r"<\|open\|>argument\s", FLAGS)
_END = lazy_regex(r"\s*<\|close\|>call<\|sep\|>", FLAGS)
_ENDS = lazy_regex(r"(?P<close><\|close\|>call<\|sep\|>)|<\|open\|>call\s", FLAGS)
_CLOSES = lazy_regex(r"<\|close\|>argument<\|sep\|>\s*\Z", FLAGS)
_THOUGHT_END = "<|close|>think<|sep|>"


class Xtml:
    """A call, or the thoughts, between these tokens."""

    name = "xtml"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The token of a call or of thoughts."""
        del grammar
        return {"<": r"\|open\|>(?:call\s|think<\|sep\|>)"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """One call; a broken one claims the text up to its closing token. Or the thoughts."""
        text, start = answer.text, found.start()
        if "think" in found[0].lower():
            begin = answer.find(_THOUGHT_END, found.end())
            end = (begin, begin + len(_THOUGHT_END)) if begin >= 0 else answer.next_closing(found.end())
            begin, resume = end or (len(text), len(text))
            return Reading(resume, reasoning=text[found.end() : begin])
        opened = _CALL.match(text, start)
        name = _attributes(opened).get("tool") if opened else None
        if opened is None or name is None:
            reading = Reading(found.end(), problem="it names no tool")
        else:
            reading = _read(answer, start, opened.end(), name)
        if reading.problem is not None:
            reading.claimed = answer.claims.end(_ENDS, reading.end, reading.behind)
        return reading


def _attributes(opened: re.Match[str]) -> dict[str, str]:
    return {key.lower(): decode_entities(value) for key, value in _ATTRIBUTE.findall(opened["attributes"])}


def _read(answer: Answer, start: int, position: int, name: str) -> Reading:
    text, given, begin = answer.text, dict[str, object](), position
    arguments: object = given
    if text.startswith("{", position):
        arguments, position = answer.values.decoded(position)
        if position < 0:
            return Reading(begin, problem="its arguments are not valid JSON")
    while arguments is given and (opened := _ARGUMENT.match(text, position)):
        attributes = _attributes(opened)
        key = attributes.get("key", "")
        end = answer.find(_ARGUMENT_END, opened.end())
        if end < 0 or _OPENS.search(text, opened.end(), end):
            return Reading(begin, problem=f"its argument {key!r} is not closed", behind=Behind(_CLOSES))
        is_json = attributes.get("type", "string") != "string"
        given[key] = argument(key, text[opened.end() : end], is_json=is_json)
        position = end + len(_ARGUMENT_END)
    closing = _END.match(text, position)
    if closing is None:
        return Reading(begin, problem="it holds more than its arguments", behind=Behind(_CLOSES) if given else None)
    return answer.named(name, arguments, start, closing.end())
