"""Thoughts between tokens: `[THINK]` (Mistral), `<|START_THINKING|>` (Command), `◁think▷` (Kimi), `<|inner_prefix|>`
(Apertus), `<|think:start|>` (Solar), `<|begin_of_thought|>` (Sky-T1), `<unused94>thought` (MedGemma). Elements such as
`<think>` are tags of the grammar; Harmony, Gemma and Kimi K3 have notations of their own.

spec: @thoughts
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.markup.grammar import Grammar
from engine.functions.notations.notation import Answer, Reading
from engine.functions.notations.thought_ends import CLOSES, CLOSING, OPENING


class Thoughts:
    """The text between such tokens."""

    name = "thoughts"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The opening and the closing tokens."""
        del grammar
        return {first: f"{opening}|{CLOSING[first]}" for first, opening in OPENING.items()}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The thoughts; without any end they go to the end of the text, unless a sentence speaks of the token."""
        text, (start, position) = answer.text, found.span()
        closes = CLOSES[text[start]]
        if closes.match(text, start) or found[0] == "<channel|>":
            return Reading(position)  # it closes nothing
        closing = answer.search(closes, position)
        end = closing.span() if closing else answer.next_closing(position)
        if end is None and text[start] == "[" and not answer.begins(start):
            return None
        begin, resume = end or (len(text), len(text))
        return Reading(resume, reasoning=text[position:begin])
