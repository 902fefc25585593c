"""Scores the lines of files by how likely they are the answer to a question.

A line counts by the words of the question that it has, that stand in the lines above which it is indented under, beside it,
or in its file's path. A word that fewer lines have counts more, and one that no file has counts most, so a question about
something else scores low. What looks like an answer counts more: a date for "when", a value given to what is asked for.
The shares were chosen on the questions in tests/bench/questions that are marked so.
"""

from __future__ import annotations

import heapq
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from engine.functions.lazy import lazy_regex

from .lines import File, above, is_heading, is_prose, units
from .question_terms import NAME, PART, STOP_WORDS, Term, fold, is_form, places, question_terms, terms_in

_NUMBER = lazy_regex(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|hundred|thousand|million|dozen|half|once|twice)\b",
    re.IGNORECASE,
)
_VERSION = lazy_regex(r"\d+\.\d+|[<>=~]=? ?\d")
_DATE = lazy_regex(r"\d{4}-\d\d-\d\d|\d{1,2} ?[A-Z][a-z]{2,8}\.? ?\d{4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}")
_PERSON = lazy_regex(r"@|[^\W\d_a-z]\w+ [^\W\d_a-z]\w|(?:\b(?:by|is|was|are)|[:=])\s+[\"']?[^\W\d_a-z][^\W\d_A-Z]")
_GIVEN = lazy_regex(
    r"""=\s*(?:[-+]?[\d.]+|[rbf]?"[^"]*"|'[^']*'|(?!self\b)[A-Za-z_][\w.]*(?:\(\))?)\s*(?:[,)\]#]|$)""",
    re.IGNORECASE,
)
_MARKUP = lazy_regex(r"\.\. |:\w+:|\[[^\]]+\]: |<[a-z/!]|[-=#*~^]{3}|import |from \S+ import |\$ |>>> ")
_ASSIGNED = lazy_regex(r"([A-Za-z_][\w.-]*)[\"'`]?\s*(?::[^=\n,()]*)?(?:=(?!=)|:)\s*[^\s:=]")
_PINNED = lazy_regex(r"([A-Za-z_][\w.-]*)(?:\[[\w,]+\])?\s*(?:[=>~<]=|>)\s*\d")
_REFERS = lazy_regex(r"(?:It|This|They|These)\b")
_SIGNATURE = lazy_regex(r"(?:async )?(?:def|class|fn|func|function|public|private|static)\b")
LONGEST = 300
"""The longest quote, in characters."""
_NONE: set[int] = set()
# bounds on the work that a file can make
_ROUGH = 150
"""Lines, the best by a rough score, that are scored exactly."""
_LINE = 2000
"""Characters of a line that are looked at."""
_HITS = 2000
"""Places of a word in a file that are looked at."""
# the share that a word of the question counts where it is not in the text itself
_IN_PATH = 0.4
_ABOVE = 0.7
_NEAR = ((3, 0.15), (2, 0.25), (1, 0.5))
"""So many lines before or behind the text, and the share there."""
# factors of the score
_UNLIKE = 0.6
"""Of markup, and of a text that tells no default where one is asked for."""
_MISSES = 0.4
"""Of a text that lacks what the question asks for, such as a number."""
_FITS = 1.3
"""Of a text with the date, or a value of the name, that is asked for."""


@dataclass(frozen=True)
class Quote:
    """A line or a sentence of a file that may be the answer: its text, its lines (from 0), those above it, its score."""

    score: float
    path: str
    first: int
    last: int
    above: tuple[int, ...]
    text: str


def find_quotes(question: str, files: list[tuple[str, str]]) -> list[Quote]:
    """The best candidates in `files` (path, body), the best first, none of them twice."""
    terms = question_terms(question)
    read = [_read(path, body, terms) for path, body in files]
    _weigh(terms, read)
    total = sum(term.weight for term in terms)
    if not total:
        return []
    scorer = _Scorer(terms, total, _wanted(question))
    lines = [(scorer.rough(file, line), file, line) for file in read for line in file.hits]
    best = heapq.nlargest(_ROUGH, lines, key=lambda each: each[0])
    quotes = {quote.text: quote for _, file, line in reversed(best) for quote in scorer.quotes(file, line)}
    for _, file, line in best:
        for quote in scorer.quotes(file, line):
            if quote.score > quotes[quote.text].score:
                quotes[quote.text] = quote
    return sorted(quotes.values(), key=lambda each: (-each.score, each.path, each.first))


def _read(path: str, body: str, terms: list[Term]) -> File:
    file = File(path, [line[:_LINE] for line in body.splitlines()])
    low, starts = fold(body), [0]
    for line in body.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for number, term in enumerate(terms):
        for stem in term.stems:
            for position in islice(places(low, body, stem), _HITS):
                file.hits.setdefault(bisect_right(starts, position) - 1, set()).add(number)
    file.named = terms_in(path, terms)
    return file


def _weigh(terms: list[Term], files: list[File]) -> None:
    """Give each term its weight: the fewer lines have it the more, and most where none has."""
    total = sum(len(file.lines) for file in files)
    for file in files:
        for hits in file.hits.values():
            for number in hits:
                terms[number].lines += 1
    for term in terms:
        term.weight = term.share * math.log(1 + (total + 1) / (term.lines + 0.5))


class _Scorer:
    """Scores lines and sentences by the words of the question in them, in the lines that they stand under, and near them."""

    def __init__(self, terms: list[Term], total: float, wanted: list[re.Pattern[str]]) -> None:
        self._terms = terms
        self._total = total
        self._wanted = wanted
        self._version = {number for number, term in enumerate(terms) if term.word in ("version", "versions")}
        self._default = {number for number, term in enumerate(terms) if term.word in ("default", "defaults")}

    def rough(self, file: File, line: int) -> float:
        """An estimate that looks at the line, those beside it, and the file's path."""
        found = set(file.hits[line])
        near = file.hits.get(line - 1, _NONE) | file.hits.get(line + 1, _NONE)
        return file.share * (
            self._weight(found)
            + 0.5 * self._weight(near - found)
            + 0.4 * self._weight(file.named.keys() - near - found)
        )

    def quotes(self, file: File, line: int) -> Iterator[Quote]:
        """The line, or the sentences of prose that it is a part of, scored."""
        upper_lines = above(file, line)
        for first, last, text in units(file, line):
            own = terms_in(text, self._terms)
            if (
                len(text) > LONGEST
                or not own
                or not self._tells(text)
                or (first == last and is_heading(file, first) and not _DATE.search(text))
            ):
                continue
            credit: dict[int, float] = dict.fromkeys(file.named, _IN_PATH)
            for distance, share in _NEAR:
                for near in (first - distance, last + distance):
                    _raise(credit, file.hits.get(near, _NONE), share)
            if _REFERS.match(text):  # it is about what the sentence before it names
                for before in (first - 1, first):
                    _raise(credit, file.hits.get(before, _NONE), _ABOVE)
            for upper in upper_lines:
                _raise(credit, file.hits.get(upper, _NONE), _ABOVE)
            credit |= {number: max(share, credit.get(number, 0.0)) for number, share in own.items()}
            gives = self._gives(text) and self._may_be_given(text)
            if gives:
                _raise(credit, self._default | self._version, 1.0)
            score = sum(self._terms[number].weight * share for number, share in credit.items()) / self._total
            score *= file.share * self._fit(text, gives)
            yield Quote(score, file.path, first, last, tuple(upper_lines), text)

    def _fit(self, text: str, gives: bool) -> float:
        """How much a text looks like an answer: as the question wants it, and giving a value to what is asked for."""
        fit = _UNLIKE if _MARKUP.match(text) else 1.0
        for pattern in self._wanted:
            fit *= _MISSES if not pattern.search(text) else _FITS if pattern is _DATE else 1.0
        if not self._may_be_given(text):
            fit *= _UNLIKE
        return fit * _FITS if gives else fit

    def _may_be_given(self, text: str) -> bool:
        """Whether a text may tell a default, where one is asked for: it names one, or gives a plain value."""
        return not self._default or "default" in text.lower() or bool(_GIVEN.search(_defining(text)))

    def _tells(self, text: str) -> bool:
        """Whether a text says anything that the question does not."""
        return any(not self._is_asked(word) and word.lower() not in STOP_WORDS for word in NAME.findall(text))

    def _gives(self, text: str) -> bool:
        """Whether it gives a value to something that is asked for."""
        names = _ASSIGNED.findall(_defining(text)) + (_PINNED.findall(text) if self._version else [])
        return any(self._is_asked(name, 1.0) for name in names)

    def _is_asked(self, name: str, least: float = 0.0) -> bool:
        """Whether each part of a name is a word of the question, one of them a word that counts `least` or more."""
        shares = [
            max((term.share for term in self._terms for stem in term.stems if is_form(part, stem)), default=None)
            for part in map(fold, PART.findall(name))
        ]
        return bool(shares) and None not in shares and max(share or 0.0 for share in shares) >= least

    def _weight(self, numbers: Iterable[int]) -> float:
        return sum(self._terms[number].weight for number in numbers)


def _defining(text: str) -> str:
    """A line of code up to its first bracket: the `port=80` of `serve(port=80)` gives no name of this file a value."""
    return text if _SIGNATURE.match(text) or is_prose(text) else "".join(text.partition("(")[:2])


def _raise(credit: dict[int, float], numbers: set[int], share: float) -> None:
    for number in numbers:
        credit[number] = max(credit.get(number, 0.0), share)


def _wanted(question: str) -> list[re.Pattern[str]]:
    """What the answer to a question must look like, by the words with which it asks."""
    low = question.casefold()
    found: list[re.Pattern[str]] = []
    if low.startswith("when") or re.search(r"\b(date|day)\b", low):
        found.append(_DATE)
    elif re.search(r"\bversions?\b", low):
        found.append(_VERSION)
    elif re.search(r"\bhow (many|much|long|often|high|tall|large|big|old)\b", low):
        found.append(_NUMBER)
    if low.startswith("who ") or re.search(r"\bauthor\b|\be-?mail\b", low):
        found.append(_PERSON)
    return found
