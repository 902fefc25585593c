"""Reasoning between tokens: `[THINK]` (Mistral), `<|START_THINKING|>` (Command), `◁think▷` (Kimi), `<|inner_prefix|>`
(Apertus), `<|think:start|>` (Solar). `<think>` is a tag of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.markup.grammar import Grammar, begins_line
from engine.functions.notations.notation import Answer, Reading

TOKENS = {
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|think:start|>": "<|think:end|>",
}
_CLOSING = frozenset(end.upper() for end in TOKENS.values())


class Thoughts:
    """The text between such tokens."""

    name = "thoughts"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The opening and the closing tokens."""
        del grammar
        tokens = [token for pair in TOKENS.items() for token in pair]
        firsts = sorted({token[0] for token in tokens})
        return {first: "|".join(re.escape(token[1:]) for token in tokens if token[0] == first) for first in firsts}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The thoughts; without a closing token they go to the end of the text, unless a sentence speaks of the token."""
        start, position = found.span()
        closing = next((end for begin, end in TOKENS.items() if begin.lower() == found[0].lower()), None)
        if closing is None:
            return Reading(position)  # a closing token that closes nothing; see `is_unopened`
        end = answer.find(closing, position)
        if end < 0 and found[0][0] == "[" and not begins_line(answer.text, start):
            return None
        resume = end + len(closing) if end >= 0 else len(answer.text)
        return Reading(resume, reasoning=answer.text[position : end if end >= 0 else len(answer.text)])


def is_unopened(token: str) -> bool:
    """Does `token` close thoughts? Where nothing opened them, the template did, and the text before it are thoughts."""
    return token.upper() in _CLOSING
