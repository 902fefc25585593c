"""The mark that MiniMax M3 writes before each tag of a call; it stands for nothing itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.markup.grammar import Grammar
from engine.functions.notations.notation import Answer, Reading
from engine.functions.notations.tokens import MARK


class Marks:
    """One mark."""

    name = "mark"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The mark itself."""
        del grammar
        return {MARK[0]: re.escape(MARK[1:])}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """Nothing but its place, so that it is left out."""
        del answer
        return Reading(found.end())
