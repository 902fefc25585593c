"""Whether two prompts that mean nearly the same may have the same answer.

A vector knows little of order and of a single word: "EUR in USD" and "USD in EUR", or two long prompts that differ in one
name, are near each other.
"""

from __future__ import annotations

from engine.functions.lazy import lazy_regex
from engine.functions.passages.question_terms import STOP_WORDS

_TOKEN = lazy_regex(r"[^\s,;:!?()\"]+")
_SENTENCE = lazy_regex(r"(?:^|[.!?:]\s|\n)\W*$")
_NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nothing", "nobody", "without", "neither", "nor", "cannot", "except", "unless"]
)
_EDGES = ".'`*_-<>[]{}"


def prompts_agree(one: str | None, other: str | None) -> int | None:
    """1 where two prompts have the same names, figures and negations, and the words that both have in the same order.

    A name has a capital letter inside of a sentence, or a digit or a mark such as `_`, `/` or `.` inside of it.
    """
    if one is None or other is None:
        return None
    (marks, words), (other_marks, other_words) = _read(one), _read(other)
    shared = set(words) & set(other_words)
    in_order = [word for word in words if word in shared] == [word for word in other_words if word in shared]
    return int(marks == other_marks and in_order)


def _read(text: str) -> tuple[list[str], list[str]]:
    """What has to be the same, and the words that say what a prompt is about, both in their order."""
    marks, words = [], []
    for match in _TOKEN.finditer(text):
        word = match[0].strip(_EDGES).removesuffix("'s")
        folded = word.casefold()
        is_name = any(letter.isupper() for letter in word) and not _SENTENCE.search(text[: match.start()][-20:])
        if folded in _NEGATIONS or folded.endswith(("n't", "n\u2019t")):
            marks.append("not")
        elif is_name or not word.replace("'", "").isalpha():
            marks.append(folded)
        elif folded not in STOP_WORDS:
            words.append(folded)
    return [mark for mark in marks if mark], words
