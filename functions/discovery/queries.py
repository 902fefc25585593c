"""Small functions that views and triggers use to select entries."""

from __future__ import annotations

import re

from engine.functions.lazy import lazy_regex
from engine.functions.passages.question_terms import NAME, PART, STOP_WORDS

_WORD = lazy_regex(r"[^\W_]+", re.UNICODE)


def tags_match(wanted: str | None, tags: str | None) -> int:
    """1 when `tags` contains each of the comma-separated `wanted` tags, in any letter case; else 0."""
    have = (tags or "").casefold()
    return int(all(tag.strip().casefold() in have for tag in (wanted or "").split(",")))


def search_query(text: str | None) -> str | None:
    """An FTS5 query that finds any word of `text`, whatever it holds; a text without words finds nothing."""
    if text is None:
        return None
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(text))
    return " OR ".join(f'"{word}"' for word in words if len(word) > 1 or word.isdigit()) or '""'


def find_query(text: str | None) -> str | None:
    """An FTS5 query that finds any word of `text` or part of a name in it, without those that every text has.

    Where it has no others it finds these; a text without words finds nothing.
    """
    if text is None:
        return None
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(name_words(text) or ""))
    telling = [word for word in words if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    return " OR ".join(f'"{word}"' for word in telling or words) or '""'


def name_words(name: str | None) -> str | None:
    """`name` and the words that it is made of: `src/readFile.py` is followed by `src read File py`."""
    if name is None:
        return None
    parts = [part for word in NAME.findall(name) for part in PART.findall(word)]
    return f"{name} {' '.join(parts)}"
