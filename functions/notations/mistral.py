"""Mistral's calls: `[TOOL_CALLS] [{…}]`, `[TOOL_CALLS]get{…}`, `[TOOL_CALLS]get[CALL_ID]x[ARGS]{…}`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import Grammar, skip_space
from engine.functions.notations.json_calls import json_calls
from engine.functions.notations.notation import Answer, Reading

_CALL = lazy_regex(r"\s*([\w.:/-]+)(?:\[CALL_ID\][^\[{]{0,60})?(?:\[ARGS\])?\s*(?=\{)")
_ENDS = lazy_regex(r"(?P<close></s>)")


class Mistral:
    """What follows `[TOOL_CALLS]`."""

    name = "mistral"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The token in brackets."""
        del grammar
        return {"[": r"TOOL_CALLS\]"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The calls; broken ones claim the rest of the message."""
        start, position = found.span()
        following = skip_space(answer.text, position)
        begins = answer.text.startswith(("{", "["), following) or _CALL.match(answer.text, following)
        if not begins and answer.claims.is_mention(start, position):
            return None
        reading = _read(answer, start, following)
        if reading.problem is not None:
            reading.claimed = answer.claims.end(_ENDS, max(reading.end, position))
        return reading


def _read(answer: Answer, start: int, position: int) -> Reading:
    if answer.text.startswith(("{", "["), position):
        return json_calls(answer, start, position)
    found = _CALL.match(answer.text, position)
    if found is None:
        return Reading(position, problem="it holds no call")
    value, end = answer.values.decoded(found.end())
    goes_on = answer.text[end : end + 1].isalnum() and not answer.claims.call_follows(end)
    if end < 0 or answer.claims.is_broken_off(end) or goes_on:
        return Reading(position, problem="its arguments are not valid JSON")
    return answer.named(found[1], value, start, end)
