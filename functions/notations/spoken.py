"""Calls in words: ReAct's `Action: get` and `Action Input: {…}`, Command R's `Action:` and a list of JSON, Qwen's
`✿FUNCTION✿: get` and `✿ARGS✿: {…}`, Functionary's `>>>get` and JSON on the next line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, Grammar, skip_space
from engine.functions.notations.call_ends import nothing_follows
from engine.functions.notations.json_calls import json_calls
from engine.functions.notations.notation import UNREAD, Answer, Reading
from engine.functions.notations.tokens import tool_names

_LIST = lazy_regex(r":\s*(?P<fence>```(?:json)?\s*)?(?=[\[{]\s*[{\"])")
_FENCE = lazy_regex(r"\s*```")
_RECIPIENT = lazy_regex(r">>>\s{0,3}(?P<name>[A-Za-z_][\w.]{0,80})[ \t\r]*\n(?=\s*\{)")
_EVERYBODY = lazy_regex(r">>>\s{0,3}all[ \t\r]*\n")
# what may stand behind the arguments
_AFTER = lazy_regex(r"[ \t\r;.]*(?:\n|\Z|<[|/]|>>>|```)")
_OBSERVATION = lazy_regex(r"\s*Observation:?\s*\Z")
_LINE = lazy_regex(r"[^\n]*")
# a few words that begin a line, or one between stars
_WORDS = lazy_regex(r"[ \t*#>_-]{0,10}[A-Za-z][A-Za-z ]{1,24}[*_]*")
_LABEL = lazy_regex(r"(?:(?<![^\n])[ \t*#>_-]{0,10}[A-Za-z][A-Za-z ]{1,24}|\u273f\w{1,20})[*_\u273f]*\Z")
_LONGEST_LABEL = 40


@lru_cache(maxsize=64)
def _patterns(grammar: Grammar) -> dict[str, re.Pattern[str]]:
    tool = tool_names(grammar)
    return {
        "named": lazy_regex(
            r":\W{0,20}(?P<name>[A-Za-z_][\w./-]{0,80})\W{0,20}\n\W{0,40}"
            r"(?:Action Input|Input|Arguments|Args|Parameters|\u273fARGS\u273f)\W{0,6}:[\s*]*(?P<fence>```(?:json)?\s*)?",
            FLAGS,
        ),
        "bracket": lazy_regex(rf":\W{{0,20}}{tool}\[", FLAGS),
    }


class Spoken:
    """A line that names a tool, and its arguments on the next."""

    name = "spoken"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The colon behind such a word; three `>`."""
        del grammar
        return {":": "(?:(?<=tion:)|(?<=Tool:)|(?<=Call:)|(?<=\u273f:))", ">": ">>"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """One call, or the list of them; arguments that are broken claim the rest of the text."""
        start = found.start()
        if answer.text[start] == ">":
            return _recipient(answer, start)
        patterns = _patterns(answer.grammar)
        begin = _label(answer, start)
        if begin < 0:
            return None
        named = patterns["named"].match(answer.text, start)
        if named:
            return _call(answer, begin, named, plain=True)
        listed = _LIST.match(answer.text, start)
        if listed and answer.text.endswith("Action", begin, start) and answer.claims.calls_in_json(listed.end()):
            return _list(answer, begin, listed)
        bracket = patterns["bracket"].match(answer.text, start)
        if bracket:
            return Reading(bracket.end(), problem=UNREAD, start=begin, foreign=True, claimed=len(answer.text))
        return None


def _label(answer: Answer, colon: int) -> int:
    """Where the label before the colon begins, which stands at the beginning of a line or behind a call; or -1."""
    line = max(answer.text.rfind("\n", 0, colon) + 1, colon - _LONGEST_LABEL)
    if line < answer.edge <= colon and _WORDS.fullmatch(answer.text, answer.edge, colon):
        return answer.edge
    label = _LABEL.search(answer.text, line, colon)
    return label.start() if label else -1


def _recipient(answer: Answer, start: int) -> Reading | None:
    found = _RECIPIENT.match(answer.text, start)
    if found is not None:
        return _call(answer, start, found, plain=False)
    everybody = _EVERYBODY.match(answer.text, start) if answer.begins(start) else None
    return Reading(everybody.end()) if everybody else None


def _call(answer: Answer, begin: int, found: re.Match[str], *, plain: bool) -> Reading | None:
    """The call whose arguments follow `found`: JSON, or a plain line where that is possible."""
    text, position = answer.text, skip_space(answer.text, found.end())
    if not text.startswith(("{", "["), position):
        line = _LINE.match(text, found.end())
        words = line[0].strip() if line else ""
        if not plain:
            return None
        if not words or found["fence"] or "<" in words or words[0] in "\"'`":
            return Reading(found.end(), problem=UNREAD, start=begin, foreign=True, claimed=len(text))
        reading = answer.named(found["name"], words, begin, line.end() if line else position)
        reading.start = begin
        if reading.end == len(text):
            reading.open_from = begin
        return reading
    value, end = answer.values.decoded(position)
    if end < 0 or answer.claims.is_broken_off(end):
        return Reading(position, problem="its arguments are not valid JSON", start=begin, claimed=len(text))
    fence = _FENCE.match(text, end) if "```" in found[0] else None
    end = fence.end() if fence else end
    ended = _AFTER.match(text, end) or answer.claims.call_follows(end)
    if not ended or ("```" in found[0] and not fence and end < len(text)):
        return Reading(position, problem="its arguments go on behind their end", start=begin, claimed=len(text))
    reading = answer.named(found["name"], value, begin, end)
    observation = _OBSERVATION.match(text, end) if reading.calls else None
    reading.end = observation.end() if observation else end
    reading.start = begin
    return reading


def _list(answer: Answer, begin: int, listed: re.Match[str]) -> Reading:
    reading = json_calls(answer, begin, listed.end())
    reading.start = begin
    if reading.problem is not None or not (reading.calls or reading.unknown):
        reading.problem = reading.problem or "it holds no name and arguments"
        reading.claimed = len(answer.text)
        return reading
    fence = _FENCE.match(answer.text, reading.end) if listed["fence"] else None
    reading.end = fence.end() if fence else reading.end
    if listed["fence"] and not fence and not nothing_follows(answer.text, reading.end):
        return Reading(reading.end, problem="the fence around it is not closed", start=begin, claimed=len(answer.text))
    return reading
