"""The notations of tool calls that models were trained on, besides tags of the tools; one module a family.

To add one: a module with a class that has the form of `Notation`, its place in `NOTATIONS`, a folder in tests/corpus, and
a line in tests/fuzz/planted.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, Grammar
from engine.functions.notations.elements import Elements
from engine.functions.notations.gemma import Gemma
from engine.functions.notations.harmony import BareHarmony, Harmony
from engine.functions.notations.json_calls import JsonCalls
from engine.functions.notations.marks import Marks
from engine.functions.notations.mistral import Mistral
from engine.functions.notations.notation import Answer, Notation, Reading
from engine.functions.notations.pythonic import Pythonic
from engine.functions.notations.spoken import Spoken
from engine.functions.notations.stray import Stray
from engine.functions.notations.thoughts import Thoughts
from engine.functions.notations.wrapped import Wrapped
from engine.functions.notations.xtml import Xtml

NOTATIONS: tuple[Notation, ...] = (
    Thoughts(),
    Elements(),
    Harmony(),
    BareHarmony(),
    Xtml(),
    Stray(),
    Wrapped(),
    Mistral(),
    Gemma(),
    JsonCalls(),
    Pythonic(),
    Spoken(),
    Marks(),
)
"""All of them; where two begin alike, the first counts."""


@lru_cache(maxsize=64)
def notation_heads(grammar: Grammar) -> dict[str, str]:
    """By the first character: what the notations begin with, each in a group of its own that `notation_of` knows."""
    heads = dict[str, list[str]]()
    for notation in NOTATIONS:
        for first, pattern in notation.heads(grammar).items():
            heads.setdefault(first, []).append(f"(?P<{notation.name}_{ord(first)}>{pattern})")
    return {first: "|".join(patterns) for first, patterns in heads.items()}


_BY_NAME = {notation.name: notation for notation in NOTATIONS}


@lru_cache(maxsize=128)
def notation_of(group: str | None) -> Notation | None:
    """The notation whose head matched, by the name of the group; None for another group."""
    return _BY_NAME.get((group or "").partition("_")[0])


@lru_cache(maxsize=64)
def _angle_heads(grammar: Grammar) -> re.Pattern[str]:
    return lazy_regex(f"<(?:{notation_heads(grammar)['<']})", FLAGS)


def answer_of(text: str, grammar: Grammar) -> Answer:
    """What is needed to read the calls in `text`."""
    return Answer(text, grammar, _angle_heads(grammar))


__all__ = ["NOTATIONS", "Answer", "Notation", "Reading", "answer_of", "notation_heads", "notation_of"]
