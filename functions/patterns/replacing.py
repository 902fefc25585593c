"""Replaces what a pattern finds in a text; the edits of a `set` have their own rules (`engine.functions.edits`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from engine.functions.edits.sed import Hit, apply_hits, expanded, find_hits, parse_sed
from engine.functions.limits import SUBSTITUTION_HITS, Exceeded, Work, most_characters

from .globs import text_regex
from .kinds import SLASHED, pattern_of
from .regexes import limited

_Span = tuple[int, int, tuple[str | None, ...]]
"""Where a hit begins and ends, and its groups."""


def pattern_replace(pattern: str | None, replacement: str | None, text: str | None) -> str | None:
    r"""`text` with each hit of `pattern` replaced; NULL where nothing is hit, and for a JSONPath or XPath.

    A literal is hit as it is written, a glob and a regex as in a passage; in the replacement of a regex `\1` to `\9` are
    its groups. A sed pattern brings its own replacement, of one hit unless it has the flag g. NULL, too, where it would take
    too long or make the text too long.
    """
    if pattern is None or replacement is None or text is None:
        return None
    kind = pattern_of(pattern, True).kind
    try:
        if kind == "sed":
            return _by_sed(pattern, text)
        return _everywhere(kind, pattern, replacement, text)
    except Exceeded:
        return None


def _everywhere(kind: str, pattern: str, replacement: str, text: str) -> str | None:
    spans = list(islice(_spans(kind, pattern, text), SUBSTITUTION_HITS + 1))
    left, hits = most_characters(text) - len(text), []
    for start, end, groups in spans if len(spans) <= SUBSTITUTION_HITS else []:
        new = expanded(replacement, groups) if kind == "regex" else replacement
        left -= len(new) - (end - start)
        if left < 0:
            return None
        hits.append(Hit(start, end, new))
    return apply_hits(text, hits) if hits else None


def _spans(kind: str, pattern: str, text: str) -> Iterator[_Span]:
    """The hits of a pattern that are not empty; none of a query."""
    match kind:
        case "literal":
            yield from _places(pattern, text)
        case "regex" if slashed := SLASHED.fullmatch(pattern):
            yield from _of_expression(slashed[1], "".join(sorted(set(slashed[2]))), text)
        case "glob":
            try:
                expression = text_regex(pattern)
            except (re.error, RecursionError, OverflowError):  # then it is literal text
                yield from _places(pattern, text)
            else:
                yield from _of_expression(expression, "i", text)


def _of_expression(source: str, flags: str, text: str) -> Iterator[_Span]:
    hits = limited(source, flags).hits(text, SUBSTITUTION_HITS + 1)
    return ((hit.start(), hit.end(), hit.groups()) for hit in hits if hit.end() > hit.start())


def _places(part: str, text: str) -> Iterator[_Span]:
    at = text.find(part) if part else -1
    while at >= 0:
        yield at, at + len(part), ()
        at = text.find(part, at + len(part))


def _by_sed(pattern: str, text: str) -> str | None:
    whole, work = text, Work()
    for each in parse_sed(pattern) or []:
        work.check()
        text = apply_hits(text, find_hits(each, text, SUBSTITUTION_HITS if each.everywhere else 1))
        if len(text) > most_characters(whole):
            return None
    return None if text == whole else text
