"""Patterns over paths and texts. Each kind has its own notation, by which it is recognised.

`text` literal, `src/**/*.py` glob, `/expression/flags` regex, `$.name` JSONPath, `//element` XPath,
`s/old/new/` sed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache

from engine.functions.edits.sed import find_hits, parse_sed, problem
from engine.functions.lazy import lazy_regex
from engine.functions.limits import PATTERN_CHARACTERS, REGEX_CHARACTERS, Exceeded
from engine.functions.paths import path_is_pattern

from .globs import path_regex, text_regex, wildcard_runs
from .queries import jsonpath_error, jsonpath_finds, xpath_error, xpath_finds
from .regexes import Limited, limited

SLASHED = lazy_regex(r"/(?!/)(.+)/([gimsuy]*)", re.DOTALL)
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
_QUICK_TEXT = 1024
_QUICK_RUNS = 2
"""Up to two wildcards and 1,024 characters the standard matcher is quick on every text."""
_SHORT = REGEX_CHARACTERS // 6
"""A glob becomes at most six times as long when it is translated for passages."""


class Pattern:
    """A pattern over paths and texts. This one is literal text; the other kinds are its subclasses."""

    kind = "literal"
    prefix: str
    """How every path begins that it can match; '' if nothing is known."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.prefix = pattern if self.kind == "literal" else ""

    def match(self, text: str) -> object:
        """Truthy if it matches a whole path or text."""
        return text == self.pattern

    def search(self, text: str) -> int:
        """The 1-based position of the first hit, 0 without one."""
        return _find_folded(self.pattern.casefold(), text)

    def error(self) -> str | None:
        """What is wrong with it: it is not valid, or took too long in an earlier match."""
        return None


class _Glob(Pattern):
    kind = "glob"

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.prefix = _BEFORE_WILDCARD.match(pattern)[0]  # type: ignore[index]  # it matches ''
        below = _BELOW.fullmatch(pattern)
        self._below = below and (below[1] or below[2])

    def match(self, text: str) -> object:
        if self._below:
            # `folder/**` and `scheme://*` match every path that begins so
            return text.startswith(self._below)
        if self._translated is None:
            return super().match(text)
        quick, slow, longest = self._translated
        return quick.fullmatch(text) if len(text) <= longest else slow.fullmatch(text)

    def search(self, text: str) -> int:
        return super().search(text) if self._is_broken() else self._inside.search(text)

    def error(self) -> str | None:
        # its translation is always valid, but can be too long or too slow
        if self._is_broken():
            return None
        failure = (self._translated and self._translated[1].failure) or self._inside_failure()
        return failure and f"glob {self.pattern!r} is too complex: use fewer wildcards"

    def _is_broken(self) -> bool:
        """Whether it cannot be translated: then it is literal text."""
        return not self._below and self._translated is None

    def _inside_failure(self) -> str | None:
        """Why it failed in passages of text; a short one without brackets cannot fail before it is first searched for."""
        plain = len(self.pattern) <= _SHORT and "{" not in self.pattern and "[" not in self.pattern
        return None if plain and "_inside" not in self.__dict__ else self._inside.failure

    @cached_property
    def _translated(self) -> tuple[re.Pattern[str], Limited, int] | None:
        """The standard matcher, the one with a time limit, and the longest path for the standard one; None if broken."""
        if self._below:
            return None
        try:
            source = path_regex(self.pattern)
            longest = _QUICK_TEXT if wildcard_runs(self.pattern) <= _QUICK_RUNS else 0
            return re.compile(source), limited(source), longest
        except (re.error, RecursionError, OverflowError):
            return None

    @cached_property
    def _inside(self) -> Limited:
        """The matcher of passages."""
        return limited(text_regex(self.pattern), "i")


class _Regex(Pattern):
    kind = "regex"

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        slashed = SLASHED.fullmatch(pattern)
        assert slashed is not None
        self._expression = limited(slashed[1], "".join(sorted(set(slashed[2]))))

    def match(self, text: str) -> object:
        return self._expression.search(text)

    def search(self, text: str) -> int:
        return self._expression.search(text)

    def error(self) -> str | None:
        return self._expression.error()


class _Query(Pattern):
    """A query on a JSON or XML document. In any other text the pattern itself is searched for."""

    finds: Callable[[str, str], bool | None]
    """Whether the pattern selects anything in a text; None if the text is not a document."""
    problem: Callable[[str], str | None]
    """What is wrong with the pattern."""

    def match(self, text: str) -> object:
        return self.finds(self.pattern, text)

    def search(self, text: str) -> int:
        found = self.finds(self.pattern, text)
        return super().search(text) if found is None else int(found)

    def error(self) -> str | None:
        return self.problem(self.pattern)


class _JsonPath(_Query):
    kind = "jsonpath"
    finds = staticmethod(jsonpath_finds)
    problem = staticmethod(jsonpath_error)


class _XPath(_Query):
    kind = "xpath"
    finds = staticmethod(xpath_finds)
    problem = staticmethod(xpath_error)


class _Sed(Pattern):
    kind = "sed"

    def match(self, text: str) -> object:
        return self.search(text)

    def search(self, text: str) -> int:
        substitutions = parse_sed(self.pattern) or []
        try:
            return min((hits[0].start + 1 for each in substitutions if (hits := find_hits(each, text, 1))), default=0)
        except Exceeded:
            return 0

    def error(self) -> str | None:
        return next((said for each in parse_sed(self.pattern) or [] if (said := problem(each))), None)


_KINDS: Mapping[str, type[Pattern]] = {each.kind: each for each in (Pattern, _Glob, _Regex, _JsonPath, _XPath, _Sed)}


def pattern_kind(pattern: str | None) -> str | None:
    """The kind of `pattern`: literal, glob, regex, jsonpath, xpath or sed."""
    return None if pattern is None else pattern_of(pattern, False).kind


def pattern_prefix(pattern: str | None) -> str | None:
    """How every path begins that `pattern` can match: for a glob the text before its first wildcard.

    '' if nothing is known. With it a query reads only this range of an index over paths.
    """
    return None if pattern is None else pattern_of(pattern, False).prefix


def pattern_match(pattern: str | None, text: str | None) -> int | None:
    """1 if `pattern` matches `text` as a whole, else 0.

    A literal is equal and a glob matches all of `text`; a regex or sed hits anywhere in it, a query selects something.
    """
    if pattern is None or text is None:
        return None
    return 1 if pattern_of(pattern, False).match(text) else 0


def pattern_search(pattern: str | None, text: str | None) -> int | None:
    """The 1-based position, in code points, of the first hit of `pattern` in `text`; 0 without one.

    Literals and globs are found in any letter case. A JSONPath or XPath that selects something gives 1.
    """
    if pattern is None or text is None:
        return None
    return pattern_of(pattern, True).search(text)


def pattern_error(pattern: str | None) -> str | None:
    """What is wrong with `pattern`, as a sentence: it is not valid, or took too long earlier; else NULL."""
    if pattern is None:
        return None
    return pattern_of(pattern, False).error() or pattern_of(pattern, True).error()


def _kind(pattern: str, *, passage: bool) -> str:
    """The kind of a pattern by its form. In a passage of text `/word/` is a regex, else a folder."""
    if len(pattern) > PATTERN_CHARACTERS:
        return "literal"
    if not pattern.startswith(("/", "$", "s/")):  # as nearly every path
        return "glob" if path_is_pattern(pattern) else "literal"
    if pattern.startswith("s/") and parse_sed(pattern):
        return "sed"
    if (slashed := SLASHED.fullmatch(pattern)) and _is_regex(slashed, passage):
        return "regex"
    if _JSONPATH.fullmatch(pattern):
        return "jsonpath"
    if _XPATH.match(pattern) or _ROOTED_XPATH.match(pattern):
        return "xpath"
    return "glob" if path_is_pattern(pattern) else "literal"


def _is_regex(slashed: re.Match[str], passage: bool) -> bool:
    """Whether it is a regex between slashes rather than an absolute path."""
    source, flags = slashed.groups()
    if _REGEX_EVIDENCE.search(source):
        return True
    return not _INNER_SLASH.search(source) and (passage or flags != "")


def pattern_of(pattern: str, passage: bool) -> Pattern:
    """The pattern, ready to use. Only one that begins with a slash can mean something else in a passage."""
    if len(pattern) > PATTERN_CHARACTERS:
        return Pattern(pattern)  # not cached: it would keep a long text alive
    return _cached_pattern(pattern, passage and pattern.startswith("/"))


@lru_cache(maxsize=256)
def _cached_pattern(pattern: str, passage: bool) -> Pattern:
    return _KINDS[_kind(pattern, passage=passage)](pattern)


def _find_folded(folded: str, text: str) -> int:
    """The 1-based position of `folded` in `text` in any letter case; 0 without one. Folding can lengthen letters."""
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
