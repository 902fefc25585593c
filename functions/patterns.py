"""Patterns over paths and texts: one notation for each kind, and the shape of a pattern says which it is.

`text` literal, `src/**/*.py` glob, `/expression/flags` regex, `$.name` JSONPath, `//element` XPath,
`s/old/new/` sed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import methodcaller

from engine.functions import Function
from engine.functions.globs import path_regex, text_regex, wildcard_runs
from engine.functions.lazy import lazy_regex
from engine.functions.paths import path_is_pattern
from engine.functions.queries import jsonpath_error, jsonpath_finds, xpath_error, xpath_finds
from engine.functions.regexes import Limited, limited
from engine.functions.sed import apply_hits, find_hits, parse_sed

_SLASHED = lazy_regex(r"/(?!/)(.+)/([gimsuy]*)", re.DOTALL)
_REGEX_EVIDENCE = lazy_regex(r"\\|[\^$|(){}\[]|\.[*+?]|[\w)\]][+?]|://")
_INNER_SLASH = lazy_regex(r"(?<!\\)/")
_JSONPATH = lazy_regex(r"\$(?:\.\.?[A-Za-z_*]|\.\.\[|\[)[^/]*")
_XPATH = lazy_regex(r"//[A-Za-z_*@.]\S*.*", re.DOTALL)
_ROOTED_XPATH = lazy_regex(
    r"/.*(?:\b(?:ancestor|attribute|child|descendant|following|namespace|parent|preceding|self)[\w-]*::"
    r"|\[(?:@|\d+\]|(?:last|position|text|contains|starts-with|not|name|count|normalize-space)\())",
    re.DOTALL,
)
_BEFORE_WILDCARD = lazy_regex(r"[^*?\[\]!(){}\\]*")
_BELOW = lazy_regex(r"([^*?\[\]!(){}\\]*/)\*\*|([^*?\[\]!(){}\\/]+://)\*")
_LONGEST = 4096
"""Anything longer is a passage of text, not a notation."""
_QUICK_TEXT = 1024
_QUICK_RUNS = 2
"""Up to two wildcards and 1,024 characters the standard matcher is quick whatever it is given."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of one kind, ready to use."""

    kind: str
    match: Callable[[str], object]
    """Truthy if the whole of a path or text is meant."""
    search: Callable[[str], int]
    """1-based position of the first hit, 0 without one."""
    replace: Callable[[str, str], str | None]
    """From a replacement and a text the new text, None without a hit."""
    error: Callable[[], str | None]
    """What is wrong with it by now."""


def pattern_kind(pattern: str | None) -> str | None:
    """The kind of `pattern`: literal, glob, regex, jsonpath, xpath or sed."""
    return None if pattern is None else _kind(pattern, passage=False)


def pattern_prefix(pattern: str | None) -> str | None:
    """How every path begins that `pattern` can match: the literal part of a glob before its first wildcard.

    '' where nothing is known. An index over paths then has to be read only from there to the last path so begun.
    """
    if pattern is None:
        return None
    kind = _kind(pattern, passage=False)
    if kind == "literal":
        return pattern
    return _BEFORE_WILDCARD.match(pattern)[0] if kind == "glob" else ""  # type: ignore[index]


def pattern_match(pattern: str | None, text: str | None) -> int | None:
    """1 if `text` as a whole is what `pattern` means, else 0.

    Literals are equal and globs match fully; a regex or sed hits anywhere, a query selects something.
    """
    if pattern is None or text is None:
        return None
    return 1 if _pattern(pattern, False).match(text) else 0


def pattern_search(pattern: str | None, text: str | None) -> int | None:
    """The 1-based code point of `text` where `pattern` first hits, 0 if nowhere.

    Literals and globs are found in any case here; the result of a JSONPath or XPath is 1.
    """
    if pattern is None or text is None:
        return None
    return _pattern(pattern, True).search(text)


def pattern_replace(pattern: str | None, replacement: str | None, text: str | None) -> str | None:
    """`text` with each hit of `pattern` replaced; NULL if there is none.

    The replacement is plain text. A sed pattern carries its own, and means one hit unless it has the flag g.
    """
    if pattern is None or text is None:
        return None
    return _pattern(pattern, True).replace(replacement or "", text)


def pattern_error(pattern: str | None) -> str | None:
    """What is wrong with `pattern`, as a sentence: it is not valid, or took too long before; else NULL."""
    if pattern is None:
        return None
    return _pattern(pattern, False).error() or _pattern(pattern, True).error()


def _kind(pattern: str, *, passage: bool) -> str:
    """The kind by shape; in a passage of text `/word/` is no folder but a regex."""
    if len(pattern) > _LONGEST:
        return "literal"
    if pattern.startswith("s/") and parse_sed(pattern):
        return "sed"
    if (slashed := _SLASHED.fullmatch(pattern)) and _is_regex(slashed, passage):
        return "regex"
    if _JSONPATH.fullmatch(pattern):
        return "jsonpath"
    if _XPATH.match(pattern) or _ROOTED_XPATH.match(pattern):
        return "xpath"
    return "glob" if path_is_pattern(pattern) else "literal"


def _is_regex(slashed: re.Match[str], passage: bool) -> bool:
    """Whether what stands between slashes could not as well be an absolute path."""
    source, flags = slashed.groups()
    if _REGEX_EVIDENCE.search(source):
        return True
    return not _INNER_SLASH.search(source) and (passage or flags != "")


def _pattern(pattern: str, passage: bool) -> Pattern:
    """The compiled pattern; long literals would only fill the cache."""
    return _cached_pattern(pattern, passage) if len(pattern) <= _LONGEST else _literal(pattern)


@lru_cache(maxsize=512)
def _cached_pattern(pattern: str, passage: bool) -> Pattern:
    return _BUILDERS[_kind(pattern, passage=passage)](pattern)


def _nothing_wrong() -> None:
    return None


def _literal(pattern: str) -> Pattern:
    def replace(replacement: str, text: str) -> str | None:
        return text.replace(pattern, replacement) if pattern and pattern in text else None

    folded = pattern.casefold()
    return Pattern("literal", pattern.__eq__, lambda text: _find_folded(folded, text), replace, _nothing_wrong)


def _find_folded(folded: str, text: str) -> int:
    """Where `folded` stands in `text` in any case, 1-based; letters that grow when folded shift it."""
    whole = text.casefold()
    index = whole.find(folded)
    if index <= 0 or len(whole) == len(text):
        return index + 1
    length = 0
    for position, letter in enumerate(text, 1):
        length += len(letter.casefold())
        if length > index:
            return position
    return len(text)


def _glob(pattern: str) -> Pattern:
    try:
        match, whole = _path_matcher(pattern)
    except (re.error, RecursionError, OverflowError):
        return _literal(pattern)

    @cache
    def inside() -> Limited:
        return limited(text_regex(pattern), "i")

    def error() -> str | None:
        # what a glob is translated to is valid, and can only be too long or too slow
        failure = (whole and whole.failure) or inside().failure
        return failure and f"glob {pattern!r} is too complex: use fewer wildcards"

    return Pattern(
        "glob",
        match,
        lambda text: inside().search(text),
        lambda replacement, text: inside().replace_all(replacement, text),
        error,
    )


def _path_matcher(pattern: str) -> tuple[Callable[[str], object], Limited | None]:
    """The matcher of a glob: the standard one where it is quick, else one with a time limit, which is the second."""
    if below := _BELOW.fullmatch(pattern):
        # `folder/**` and `scheme://*` need no expression: every path that begins so
        return methodcaller("startswith", below[1] or below[2]), None
    source = path_regex(pattern)
    quick = re.compile(source).fullmatch
    slow = limited(source)
    longest = _QUICK_TEXT if wildcard_runs(pattern) <= _QUICK_RUNS else 0

    def match(text: str) -> object:
        return quick(text) if len(text) <= longest else slow.fullmatch(text)

    return match, slow


def _regex(pattern: str) -> Pattern:
    slashed = _SLASHED.fullmatch(pattern)
    assert slashed is not None
    expression = limited(slashed[1], "".join(sorted(set(slashed[2]))))
    search = expression.search
    return Pattern("regex", search, search, expression.replace_all, expression.error)


def _query(
    kind: str, finds: Callable[[str, str], bool | None], error: Callable[[str], str | None]
) -> Callable[[str], Pattern]:
    """A builder of patterns that ask a document; in a text that is none they are looked for as they stand."""

    def build(pattern: str) -> Pattern:
        def search(text: str) -> int:
            found = finds(pattern, text)
            return _find_folded(pattern.casefold(), text) if found is None else int(found)

        return Pattern(
            kind, lambda text: finds(pattern, text), search, lambda _new, _text: None, lambda: error(pattern)
        )

    return build


def _sed(pattern: str) -> Pattern:
    substitutions = parse_sed(pattern) or []

    def search(text: str) -> int:
        return min((hits[0].start + 1 for each in substitutions if (hits := find_hits(each, text))), default=0)

    def replace(_replacement: str, text: str) -> str | None:
        found = False
        for each in substitutions:
            hits = find_hits(each, text)
            text = apply_hits(text, hits if each.everywhere else hits[:1])
            found = found or bool(hits)
        return text if found else None

    return Pattern("sed", search, search, replace, _nothing_wrong)


_BUILDERS: dict[str, Callable[[str], Pattern]] = {
    "literal": _literal,
    "glob": _glob,
    "regex": _regex,
    "jsonpath": _query("jsonpath", jsonpath_finds, jsonpath_error),
    "xpath": _query("xpath", xpath_finds, xpath_error),
    "sed": _sed,
}

FUNCTIONS = (
    Function("pattern_kind", 1, pattern_kind),
    Function("pattern_prefix", 1, pattern_prefix),
    Function("pattern_match", 2, pattern_match),
    Function("pattern_search", 2, pattern_search),
    Function("pattern_replace", 3, pattern_replace),
    Function("pattern_error", 1, pattern_error),
)
