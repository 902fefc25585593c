"""Parameters without a call, and results that a model invented: data, of which nothing is read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, NAMESPACE, Grammar
from engine.functions.notations.notation import UNREAD, Answer, Reading
from engine.functions.notations.tokens import BAR, PREFIX

_PARAMETER = rf"{PREFIX}param(?:eter)?[\s=][^<>]{{0,120}}>|{NAMESPACE}arg_(?:key|value)>|\|tool_arg:start\|>"
_RESULT = rf"(?:tool|function)_(?:response|result|output)s?>|{BAR}tool[\u2581_]outputs?[\u2581_]begin{BAR}>"
_RESULTS = lazy_regex(f"<(?:{_RESULT})", FLAGS)
_PARAMETER_END = lazy_regex(rf"</{PREFIX}(?:param(?:eter)?|arg_value)\s*>|<\|tool_arg:end\|>", FLAGS)
_RESULT_END = lazy_regex(
    rf"</(?:tool|function)_(?:response|result|output)s?\s*>|<{BAR}tool[\u2581_]outputs?[\u2581_]end{BAR}>", FLAGS
)


class Stray:
    """What belongs to a call that is not there."""

    name = "stray"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The tag of a parameter or of a result."""
        del grammar
        return {"<": f"{_PARAMETER}|{_RESULT}"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The text that it claims, up to its closing tag or to the end of the answer."""
        ends = _RESULT_END if _RESULTS.match(answer.text, found.start()) else _PARAMETER_END
        closing = answer.search(ends, found.end())
        claimed = closing.end() if closing else len(answer.text)
        return Reading(found.end(), problem=UNREAD, claimed=claimed, foreign=True)
