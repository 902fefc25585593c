"""The words of a question that say what it asks for, and where a text has them.

A word is found in its forms (`require` in `requires`), beside others of the same meaning, and as a part of a name: `base` in
`exp_base` and `ExpBase`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from engine.functions.lazy import lazy_regex

NAME = lazy_regex(r"\w+(?:[._-]+\w+)*")
"""A name or a word, with the dots and dashes inside of it."""
PART = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
"""A part of a name."""
MOST_TERMS = 32
"""A longer question ends with what it asks."""
_NAMED = 1.5
_PART_OF_NAME = 0.3
_ALIKE = 0.85
_ASKING = "value"
"""It says what kind of thing is asked for, the `value of port`, and counts as little as a part of a name."""

_STOP_WORDS = (
    "a about above all also am an and any are as at be been before by call called can could did do does doing "
    "down each for from get give given got had has have having he her here hers him his how i if in into is it "
    "its itself know long many may me more most much must my name named no nor not of off on once only or other "
    "our ours out over own please said same say set she should show so some such tell than that the their them "
    "then there these they this those through to too under until up use used uses using very was we were what "
    "when where which while who whom whose why will with would you your "
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words of a question that do not help to find its answer."""
_LIKE = (
    ("maximum", "max", "most", "longest", "largest", "highest", "limit", "<="),
    ("minimum", "min", "least", "smallest", "lowest", ">="),
    ("need", "needs", "needed", "require", "requires", "required"),
    ("author", "authors", "wrote", "written", "creator"),
    ("licence", "license", "licensed", "licenced"),
    ("error", "exception"),
)
"""Words that stand for one another, in questions and in files."""


@dataclass
class Term:
    """A word of the question: the beginnings of words that it matches, how much it counts, and the lines that have it."""

    stems: tuple[str, ...]
    word: str
    share: float
    weight: float = 0.0
    lines: int = 0


def question_terms(question: str) -> list[Term]:
    """The words of a question that say what it asks for, each once, the last `MOST_TERMS`; names also by their parts, which
    count less.
    """
    found: dict[tuple[str, ...], Term] = {}
    for name in NAME.findall(question):
        parts = [part.lower() for part in PART.findall(name)]
        if len(parts) > 1:
            found.setdefault((fold(name),), Term((fold(name),), fold(name), _NAMED))
        for part in parts:
            word = fold(part)
            if word in STOP_WORDS or (len(word) < 2 and not word.isdigit()) or (len(parts) > 1 and word.isdigit()):
                continue
            stems = next((like for like in _LIKE if word in like), (_stem(word),))
            share = 1.0 if len(parts) == 1 and word != _ASKING else _PART_OF_NAME
            if stems not in found or found[stems].share < share:
                found[stems] = Term(stems, word, share)
    return list(found.values())[-MOST_TERMS:]


def _stem(word: str) -> str:
    """The beginning of a word that its inflected forms share."""
    return word if len(word) < 5 or not word.isalpha() else word[: max(4, len(word) - 3)]


class _Folded(dict[int, int]):
    """Maps characters to lower case without marks, one to one, so that positions stay."""

    def __missing__(self, code: int) -> int:
        low = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = ord(low) if len(low) == 1 else code
        return self[code]


_FOLDED = _Folded()


def fold(text: str) -> str:
    """`text` in lower case and without marks; each character stays where it is."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def places(low: str, body: str, stem: str) -> Iterator[int]:
    """Where a word begins with `stem`: behind a character that is no letter, or at a capital inside of a name."""
    position = low.find(stem)
    while position >= 0:
        before = body[position - 1] if position else " "
        if (
            not before.isalnum()
            or (body[position].isupper() and not body[position + 1 : position + 2].isupper())
            or (before.islower() and body[position].isupper())
            or before.isdigit() != body[position].isdigit()
        ):
            yield position
        position = low.find(stem, position + len(stem))


def terms_in(text: str, terms: list[Term]) -> dict[int, float]:
    """The terms that a text has, each with how well: 1 for the word itself, less for one that begins like it."""
    low = fold(text)
    found: dict[int, float] = {}
    for number, term in enumerate(terms):
        found_at = [place for stem in term.stems for place in places(low, text, stem)]
        if found_at:
            whole = any(
                low.startswith(term.word, place) and not low[place + len(term.word) :][:1].isalnum()
                for place in found_at
            )
            found[number] = 1.0 if whole or len(term.stems) > 1 else _ALIKE
    return found


def is_form(part: str, stem: str) -> bool:
    """Whether a part of a name is a form or a short form of a word."""
    return part.startswith(stem) or (len(part) > 2 and stem.startswith(part))
