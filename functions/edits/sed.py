"""Substitutions in the notation of sed: `s/old/new/flags`, with other delimiters, one after another."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.limits import SUBSTITUTION_HITS, most_characters, too_long
from engine.functions.patterns.regexes import limited

_SUBSTITUTION = lazy_regex(r"s([/|#,:~!@%+])((?:\\.|(?!\1)[^\\\n])+)\1((?:\\.|(?!\1)[^\\\n])*)\1([gimsv]*)")
_SEPARATOR = lazy_regex(r"(?:[ \t]*;[ \t]*|[ \t]*\r?\n[ \t]*)+|\s+(?=s[/|#,:~!@%+])")
_GROUP = lazy_regex(r"(?<!\\)(?:\\\\)*\\([1-9])")
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


def replace_literally(substitution: Substitution, text: str) -> str | None:
    """`text` with its literal text replaced everywhere; None without the flag g or a hit. Raises `Exceeded`."""
    old = _literal(substitution, text) if substitution.everywhere else None
    if old is None:
        return None
    new, most = plain_text(substitution.new), most_characters(text)
    if len(text) + text.count(old) * (len(new) - len(old)) > most:
        raise too_long(most)
    return text.replace(old, new)


def find_hits(substitution: Substitution, text: str, most: int = SUBSTITUTION_HITS) -> list[Hit]:
    """The first `most` hits of `substitution` in `text`: of its literal text, or without one of its regular expression.

    Raises `Exceeded` where their replacements are too long.
    """
    if (old := _literal(substitution, text)) is not None:
        return _literal_hits(old, plain_text(substitution.new), text, most)
    if _is_literal(substitution):
        return []
    longest = left = most_characters(text)
    groups = [int(number) - 1 for number in _GROUP.findall(substitution.new)]
    found: list[Hit] = []
    for hit in limited(substitution.old, substitution.flags).hits(text, most):
        filled = hit.groups()
        left -= len(substitution.new) + sum(len(filled[group] or "") for group in groups if group < len(filled))
        if left < 0:
            raise too_long(longest)
        found.append(Hit(hit.start(), hit.end(), expanded(substitution.new, filled)))
    return found


def is_named(substitution: Substitution, text: str) -> bool:
    """Whether it replaces literal text, so that who wrote it knows what it replaces."""
    return _literal(substitution, text) is not None or not _REGEX_SIGN.search(substitution.old)


def problem(substitution: Substitution) -> str | None:
    """Why a substitution finds nothing in any text: its regular expression is not valid, or took too long; else None."""
    return None if _is_literal(substitution) else limited(substitution.old, substitution.flags).error()


def apply_hits(text: str, hits: list[Hit]) -> str:
    """`text` with all `hits` replaced; they are in order and do not overlap."""
    pieces: list[str] = []
    position = 0
    for hit in hits:
        pieces += (text[position : hit.start], hit.new)
        position = hit.end
    return "".join([*pieces, text[position:]])


def _is_literal(substitution: Substitution) -> bool:
    """Whether it has only literal text to look for."""
    return "i" not in substitution.flags and not _REGEX_SIGN.search(substitution.old)


def _literal(substitution: Substitution, text: str) -> str | None:
    """The literal text of a substitution, as written or without its escapes, whichever `text` holds; else None."""
    if "i" in substitution.flags:
        return None
    return next((old for old in (substitution.old, plain_text(substitution.old)) if old in text), None)


def _literal_hits(old: str, new: str, text: str, most: int) -> list[Hit]:
    found: list[Hit] = []
    start = text.find(old)
    while start >= 0 and len(found) < most:
        found.append(Hit(start, start + len(old), new))
        start = text.find(old, start + len(old))
    return found


def _plain(escape: re.Match[str]) -> str:
    """What a backslash and a character stand for."""
    return _ESCAPED.get(escape[1], escape[1])


def expanded(new: str, groups: tuple[str | None, ...]) -> str:
    """A replacement with `\\1` … `\\9` filled in; `&` stays an ampersand, as models intend."""

    def fill(escape: re.Match[str]) -> str:
        number = int(escape[1]) if escape[1] in "123456789" else 0
        return (groups[number - 1] or "") if 0 < number <= len(groups) else _plain(escape)

    return _ESCAPE.sub(fill, new)
