"""Small functions that views and triggers use to select entries."""

from __future__ import annotations

import re

from engine.functions.lazy import lazy_regex

from . import Function

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


FUNCTIONS = (
    Function("tags_match", 2, tags_match),
    Function("search_query", 1, search_query),
)
