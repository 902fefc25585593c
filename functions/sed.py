"""Substitutions in the notation of sed: `s/old/new/flags`, with other delimiters, one after another."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.regexes import limited

MAXIMUM_HITS = 100_000
_SUBSTITUTION = lazy_regex(r"s([/|#,:~!@%+])((?:\\.|(?!\1)[^\\\n])+)\1((?:\\.|(?!\1)[^\\\n])*)\1([gimsv]*)")
_SEPARATOR = lazy_regex(r"(?:[ \t]*;[ \t]*|[ \t]*\r?\n[ \t]*)+|\s+(?=s[/|#,:~!@%+])")
_ESCAPE = lazy_regex(r"\\(.)")
_REGEX_SIGN = lazy_regex(r"[\\.*+?^$|()\[\]{}]")
_ESCAPED = {"n": "\n", "t": "\t"}


class Substitution(NamedTuple):
    """One substitution: `old` is literal text or, if that is not found, a regular expression; `new` has its escapes."""

    old: str
    new: str
    flags: str

    @property
    def everywhere(self) -> bool:
        """Whether it replaces every hit rather than one."""
        return "g" in self.flags


class Hit(NamedTuple):
    """A place `text[start:end]` and its replacement."""

    start: int
    end: int
    new: str


def parse_sed(text: str) -> list[Substitution] | None:
    """The substitutions of which `text` consists; None if it has none or anything else in it."""
    body = text.strip()
    found: list[Substitution] = []
    position = 0
    while position < len(body):
        if found:
            separator = _SEPARATOR.match(body, position)
            position = separator.end() if separator else position
            if position == len(body):
                break
            if separator is None:
                return None
        match = _SUBSTITUTION.match(body, position)
        if match is None:
            return None
        delimiter, old, new, flags = match.groups()
        found.append(Substitution(old.replace("\\" + delimiter, delimiter), new, flags))
        position = match.end()
    return found or None


def plain_text(written: str) -> str:
    """A part of a substitution as literal text, its escapes resolved."""
    return _ESCAPE.sub(_plain, written)


def find_hits(substitution: Substitution, text: str) -> list[Hit]:
    """Every hit of `substitution` in `text`: of its literal text, or without one of its regular expression."""
    if "i" not in substitution.flags:
        for old in dict.fromkeys((substitution.old, plain_text(substitution.old))):
            if found := _literal_hits(old, plain_text(substitution.new), text):
                return found
    if "i" not in substitution.flags and not _REGEX_SIGN.search(substitution.old):
        return []
    hits = limited(substitution.old, substitution.flags).hits(text, MAXIMUM_HITS)
    return [Hit(hit.start(), hit.end(), _expand(substitution.new, hit.groups())) for hit in hits]


def apply_hits(text: str, hits: list[Hit]) -> str:
    """`text` with all `hits` replaced; they are in order and do not overlap."""
    pieces: list[str] = []
    position = 0
    for hit in hits:
        pieces += (text[position : hit.start], hit.new)
        position = hit.end
    return "".join([*pieces, text[position:]])


def _literal_hits(old: str, new: str, text: str) -> list[Hit]:
    found: list[Hit] = []
    start = text.find(old)
    while start >= 0:
        found.append(Hit(start, start + len(old), new))
        start = text.find(old, start + len(old))
    return found


def _plain(escape: re.Match[str]) -> str:
    """What a backslash and a character stand for."""
    return _ESCAPED.get(escape[1], escape[1])


def _expand(new: str, groups: tuple[str | None, ...]) -> str:
    """A replacement with `\\1` … `\\9` filled in; `&` stays an ampersand, as models intend."""

    def fill(escape: re.Match[str]) -> str:
        number = int(escape[1]) if escape[1] in "123456789" else 0
        return (groups[number - 1] or "") if 0 < number <= len(groups) else _plain(escape)

    return _ESCAPE.sub(fill, new)
