"""`call:get{path:…}` without a wrapper, as Gemma writes it, and `get{path:…}`, which is not read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import Grammar
from engine.functions.notations.notation import UNREAD, Answer, Reading
from engine.functions.notations.pythonic import tool_before

_LOOSE = lazy_regex(r"\{\s*[\"']?[A-Za-z_][\w-]*[\"']?\s*:")


class Gemma:
    """A brace behind the name of a tool, with unquoted keys."""

    name = "gemma"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """A brace behind the name of a tool."""
        behind = "|".join(rf"(?<={re.escape(name)}\{{)" for name in sorted(grammar.names))
        return {"{": f"(?:{behind})"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The call behind `call:` at the beginning of a line; what any other claims, for it may be spoken of."""
        start = found.start()
        word = tool_before(answer, start) if _LOOSE.match(answer.text, start) else None
        if word is None:
            return None
        value, end = answer.values.decoded(start)
        if end < 0:
            value, end = answer.values.loose_object(start + 1)
        if end >= 0 and answer.text.startswith("call:", word[0]) and answer.begins(word[0]):
            reading = answer.named(answer.text[word[0] : start], value, word[0], end)
            reading.start = word[0]
            return reading
        claimed = end if end >= 0 else len(answer.text)
        return Reading(start, problem=UNREAD, start=word[0], claimed=claimed, foreign=True)
