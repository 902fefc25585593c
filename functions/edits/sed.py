"""Substitutions in the notation of sed: `s/old/new/flags`, with other delimiters, one after another."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.limits import SUBSTITUTION_HITS, most_characters, too_long
from engine.functions.patterns.regexes import limited

from .lines import Mismatch

_SUBSTITUTION = lazy_regex(r"s([/|#,:~!@%+])((?:\\.|(?!\1)[^\\\n])+)\1((?:\\.|(?!\1)[^\\\n])*)\1([gimsv]*)")
_SEPARATOR = lazy_regex(r"(?:[ \t]*;[ \t]*|[ \t]*\r?\n[ \t]*)+|\s+(?=s[/|#,:~!@%+])")
_GROUP = lazy_regex(r"(?<!\\)(?:\\\\)*\\([1-9])")
_ESCAPE = lazy_regex(r"\\(.)")
_REGEX_SIGN = lazy_regex(r"[\\.*+?^$|()\[\]{}]")
_WHOLE_HIT = lazy_regex(r"\\.|&&+|(?<=\s)&(?=\s)|&#?\w+;|(&)")
"""An ampersand in a replacement that may stand for what was found; others are letters."""
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_COMMAND = lazy_regex(
    r"[ \t]*(?:\d+|\$)?(?:,(?:\d+|\$))?s([/|#,:~!@%+])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1\w{0,8};?[ \t\r]*"
)
_ADDRESS = r"(?:\d+|\$|/(?:\\.|[^/\\\n])+/)"
_OTHER_COMMAND = lazy_regex(
    rf"[ \t]*{_ADDRESS}(?:,{_ADDRESS})?[ \t]*(?:d|[aic]\\?[ \t]+\S[^\n]*"
    r"|s/(?:\\.|[^/\\\n])*/(?:\\.|[^/\\\n])*/\w{0,8});?[ \t\r]*"
    r"|[ \t]*y/[^/\n]+/[^/\n]+/;?[ \t\r]*"
)
_LONGEST = 1_000_000
"""Characters of a body that is looked at as commands of sed which cannot be read."""


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


def nearly_sed(text: str) -> bool:
    """Whether all lines of `text` look like substitutions of sed, though with more than is read here, such as `2s/a/b/`."""
    lines = [line for line in text.split("\n") if line.strip()] if len(text) < _LONGEST else []
    return bool(lines) and all(_COMMAND.fullmatch(line) or _OTHER_COMMAND.fullmatch(line) for line in lines)


def plain_text(written: str) -> str:
    """A part of a substitution as literal text, its escapes resolved."""
    return _ESCAPE.sub(_plain, written)


def replace_literally(substitution: Substitution, text: str) -> str | None:
    """`text` with its literal text replaced everywhere; None without the flag g or a hit. Raises `Exceeded`."""
    old = _literal(substitution, text) if substitution.everywhere else None
    if old is None or ("\r\n" in text and "\n" in plain_text(substitution.new)):
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
    """The literal text of a substitution, as written or without its escapes, whichever `text` holds; else None.

    Line feeds in it stand for CR LF too.
    """
    if "i" in substitution.flags:
        return None
    readings = (substitution.old, plain_text(substitution.old))
    if "\n" in readings[1] and "\r\n" in text:
        ended = readings[1].replace("\r\n", "\n").replace("\n", "\r\n")
        readings = (substitution.old, *((ended,) if ended[0] == "\r" else (readings[1], ended)))
    return next((old for old in readings if old in text), None)


def check_one_reading(substitution: Substitution, text: str) -> None:
    """Raise `Mismatch` where `text` holds what is to be replaced both as it is written and without its escapes."""
    plain = plain_text(substitution.old)
    if "i" not in substitution.flags and plain != substitution.old and plain in text and substitution.old in text:
        raise Mismatch(
            f"s/{substitution.old}/ may mean {plain!r} or {substitution.old!r}, and the text holds both. "
            "Nothing was changed. Use <<SEARCH and <<REPLACE."
        )


def check_whole_hit(substitution: Substitution) -> None:
    """Raise `Mismatch` where `&` in the replacement may stand for what was found, as in sed, or for itself."""
    if "&" in substitution.old or not any(found[1] for found in _WHOLE_HIT.finditer(substitution.new)):
        return
    raise Mismatch(
        f"s/{substitution.old}/{substitution.new}/: '&' may stand for what was found, or for itself. Nothing was changed. "
        "Write \\& for the sign; for what was found, write it again, or group it and write \\1."
    )


def with_endings(text: str, hits: list[Hit]) -> list[Hit]:
    """`hits` that leave line ends as they are, with new lines that end as the line that each stands in."""
    return [_within_line(hit, text) for hit in hits] if "\r\n" in text else hits


def _within_line(hit: Hit, text: str) -> Hit:
    """A hit that does not begin or end between CR and LF. Raises `Mismatch` where it begins there."""
    if hit.start and text[hit.start - 1 : hit.start + 1] == "\r\n":
        raise Mismatch("A substitution begins in the middle of CR LF. Nothing was changed. Write \\r\\n for it.")
    if hit.end > hit.start and text[hit.end - 1 : hit.end + 1] == "\r\n":
        hit = Hit(hit.start, hit.end - 1, hit.new.replace("\r", ""))
    return hit._replace(new=_ended(hit, text)) if "\n" in hit.new else hit


def _ended(hit: Hit, text: str) -> str:
    feed = text.find("\n", hit.start if "\n" in text[hit.start : hit.end] else hit.end)
    feed = feed if feed >= 0 else text.rfind("\n")
    new = hit.new.replace("\r\n", "\n")
    return new.replace("\n", "\r\n") if feed > 0 and text[feed - 1] == "\r" else new


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
