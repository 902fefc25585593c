"""Globs as regular expressions: one dialect for paths, one for passages inside a text.

In paths `*` stays within a segment, `**` crosses them, dot files match and `!(a|b)` negates; right behind
`://` a single `*` stands for everything in the scheme. In texts `*` stays within a line, `**` crosses lines.
"""

from __future__ import annotations

import re

from engine.functions.lazy import lazy_regex

_ACROSS = "\ue000"
"""Stands for any text with slashes while wcmatch translates, which knows `**` as a whole segment only."""
_SCHEME_STAR = lazy_regex(r"(?<=://)\*(?![*(])")
_INNER_DOUBLE_STAR = lazy_regex(r"(?<=[^/*\\])\*{2,}|(?<![*\\])\*{2,}(?![/*]|$)")
_OTHER_GROUPS = lazy_regex(r"(?<=[?*+@])\(")
_DOT_GUARDS = (r"(?!\.{1,2}(?:$|[/]))", r"(?!(?:(?<=[/])|(?<=^))(?:\.{1,2})(?:$|[/]))")
_STAR_GUARD = r"(?:(?!(?:[/]|^)(?:\.{1,2})(?:$|[/])).)*?"
_RUN = lazy_regex(r"[*?]+|!\(")
_TEXT_TOKEN = lazy_regex(r"\\(.)|\.?\*(\*?)\**|(\?)|(\[[!^]?(?:\w-\w)+_?\])|([^\\.*?\[]+|.)", re.DOTALL)


def path_regex(pattern: str) -> str:
    """The regular expression that a whole path must match."""
    from wcmatch import glob  # costs 40 ms, needed only by the first glob

    marked = _OTHER_GROUPS.sub(r"\\(", pattern)
    marked = _INNER_DOUBLE_STAR.sub(_ACROSS, _SCHEME_STAR.sub(_ACROSS, marked))
    flags = glob.DOTGLOB | glob.EXTGLOB | glob.GLOBSTAR | glob.FORCEUNIX
    translated = str(glob.translate(marked, flags=flags)[0][0])
    # Canonical paths have no `.` and `..`; the guards against them would triple the time.
    for guard in _DOT_GUARDS:
        translated = translated.replace(guard, "")
    return translated.replace(_STAR_GUARD, ".*?").replace(_ACROSS, ".*?")


def wildcard_runs(pattern: str) -> int:
    """The number of wildcards that can match more or less, a group as two: time grows with this power of the length."""
    return sum(2 if run == "!(" else 1 for run in _RUN.findall(pattern))


def text_regex(pattern: str) -> str:
    """The regular expression for a passage of text. Wildcards at the ends are dropped; `.*` means `*`."""
    return "".join(_text_token(token) for token in _TEXT_TOKEN.finditer(_strip_stars(pattern)))


def _strip_stars(pattern: str) -> str:
    """`pattern` without wildcards at its ends, unless it consists of nothing else."""
    body = pattern.lstrip("*")
    stripped = body.rstrip("*") if not body.rstrip("*").endswith("\\") else body
    return stripped or pattern[:1]


def _text_token(token: re.Match[str]) -> str:
    escaped, double, one, group, plain = token.groups()
    if group:
        return f"[^{group[2:]}" if group[1] in "!^" else group
    if one:
        return r"[^\n]"
    if double is not None:
        return r"(?s:.*)" if double else r"[^\n]*"
    return re.escape(escaped if escaped is not None else plain)
