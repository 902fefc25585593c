"""Finds the passages of files that may answer a question, and in them the lines that may be the answer."""

from __future__ import annotations

import re
from functools import lru_cache

from engine.functions.compact import from_json, to_json
from engine.functions.lazy import lazy_regex

from .question_terms import question_terms
from .scores import Quote, find_quotes

_WORD = lazy_regex(r"[^\W_]+")
_TAG = lazy_regex(r"<\s*/?\s*update", re.IGNORECASE)
_ROOM = 1000
_HEAD = 120
_QUOTES = 4
_LEAST = 0.42
_CLOSE = 0.6


@lru_cache(maxsize=1)
def passages_find(question: str | None, files: str | None, room: int | None) -> str | None:
    """The passages of `files` that may answer `question`, as a JSON array of ``{"path", "body", "quotes"}``, the best first.

    `files` is a JSON array of [path, body]. `body` is some lines of a file in their order, `quotes` the one of all that fits
    best, or none: a small model chooses worse among those that fit almost as well. All of it together takes at most `room`
    bytes of UTF-8, and at most 1,000 characters. Empty where no line fits the question well enough. NULL where an argument
    is.
    """
    if question is None or files is None or room is None:
        return None
    quotes = [quote for quote in find_quotes(question, from_json(files)) if _can_be_quoted(quote.text)]
    best = quotes[0].score if quotes else 0.0
    if best < _LEAST:
        return "[]"
    near = [quote for quote in quotes[:_QUOTES] if quote.score >= best * _CLOSE]
    bodies = {path: body.splitlines() for path, body in from_json(files)}
    shown: dict[str, list[Quote]] = {}
    for quote in near:
        added = shown | {quote.path: [*shown.get(quote.path, ()), quote]}
        texts = [(path, _passage(bodies[path], each)) for path, each in added.items()]
        if sum(len(text) for _, text in texts) <= _ROOM and _bytes(texts) <= room:
            shown = added
    shown_first = next((quote for quote in near if quote in shown.get(quote.path, ())), None)
    return to_json(
        [
            {
                "path": path,
                "body": _passage(bodies[path], each),
                "quotes": [quote.text for quote in each if quote is shown_first],
            }
            for path, each in shown.items()
        ]
    )


def _can_be_quoted(text: str) -> bool:
    """Whether a text can stand in an answer: one line that does not end it."""
    return not _TAG.search(text) and text.isprintable()


def _passage(lines: list[str], quotes: list[Quote]) -> str:
    """The quotes of a file in their order, each below the two lines next above it that it stands under."""
    texts = {number: lines[number].strip()[:_HEAD] for quote in quotes for number in quote.above[:2]}
    for quote in quotes:
        texts |= dict.fromkeys(range(quote.first + 1, quote.last + 1), "")
        texts[quote.first] = quote.text
    return "\n".join(text for _, text in sorted(texts.items()) if text)


def _bytes(texts: list[tuple[str, str]]) -> int:
    """What the passages take in a packet, with their tags."""
    return sum(len(f'<file-00000000 path="{path}">\n{text}\n</file-00000000>\n\n'.encode()) for path, text in texts)


def passages_query(question: str | None) -> str | None:
    """An FTS5 query for the files that may answer `question`: any word of it that says what it asks for, in any form.

    A question without such words finds nothing. NULL for NULL.
    """
    if question is None:
        return None
    stems = (stem for term in question_terms(question) for stem in term.stems)
    words = dict.fromkeys(word for stem in stems for word in _WORD.findall(stem))
    return " OR ".join(f'"{word}" *' if len(word) > 2 else f'"{word}"' for word in words) or '""'
