"""Whether a JSONPath or an XPath finds anything in a text, within the limits of time and memory.

A query that goes from name to name takes time in proportion to the document and runs here, on a small document. Any other
one can take the square of it and more; it runs in the helper process, which ends when it takes too long or too much memory.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.limits import DOCUMENT_CHARACTERS, Key, allowance

from . import documents
from .helper import run

_SMALL = 64_000
"""Longest document in code points on which a simple query runs in this process."""
_QUOTED = lazy_regex(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_XPATH_WALK = lazy_regex(r"//|\b(?:descendant|ancestor|following|preceding)")


class _Language(NamedTuple):
    """A query language: its name, its signs at the beginning of a document, its simple queries, its work in `documents`."""

    name: str
    begins: tuple[str, ...]
    simple: re.Pattern[str]
    work: str


_JSONPATH = _Language(
    "JSONPath",
    ("{", "["),
    lazy_regex(
        r"\$(?:\.\.[A-Za-z_]\w*)?(?:\.[A-Za-z_]\w*|\.\*|\[(?:-?\d{1,9}|\*|'[^'\\]*'|\"[^\"\\]*\")\])*", re.ASCII
    ),
    "jsonpath",
)
_XPATH = _Language(
    "XPath",
    ("<",),
    lazy_regex(
        r"//?(?:[A-Za-z_][\w.-]*|\*)(?:\[(?:\d{1,9}|@[\w.-]+(?:=(?:'[^']*'|\"[^\"]*\"))?)\])?(?:/@?[\w.-]+|/text\(\))*",
        re.ASCII,
    ),
    "xpath",
)


def jsonpath_error(pattern: str) -> str | None:
    """What is wrong with a JSONPath, or why it matches nothing any more; None if nothing is."""
    return _jsonpath_refusal(pattern) or _error(_JSONPATH, pattern)


def jsonpath_finds(pattern: str, text: str) -> bool | None:
    """Whether `pattern` selects anything in the JSON document `text`; None if `text` is not one."""
    return _finds(_JSONPATH, pattern, text, _jsonpath_refusal(pattern))


def xpath_error(pattern: str) -> str | None:
    """What is wrong with an XPath, or why it matches nothing any more; None if nothing is."""
    return _xpath_refusal(pattern) or _error(_XPATH, pattern)


def xpath_finds(pattern: str, text: str) -> bool | None:
    """Whether `pattern` selects anything in the XML or HTML document `text`; None if `text` is not one."""
    return _finds(_XPATH, pattern, text, _xpath_refusal(pattern))


def _jsonpath_refusal(pattern: str) -> str | None:
    """Why a JSONPath is not run at all; None if it may be."""
    bare = _QUOTED.sub("''", pattern)
    if bare.count("..") > 2 or bare.count("$") > 1:
        return f"JSONPath {pattern!r} walks the document too often: use at most two `..` and one `$`"
    if "=~" in bare:
        return f"JSONPath {pattern!r} uses `=~`: write search(@.name, 'regex')"
    return None


def _xpath_refusal(pattern: str) -> str | None:
    """Why an XPath is not run at all; None if it may be."""
    if len(_XPATH_WALK.findall(_QUOTED.sub("''", pattern))) > 2:
        return f"XPath {pattern!r} walks the document too often: use at most two `//`"
    return None


def _error(language: _Language, pattern: str) -> str | None:
    work = f"{language.work}_invalid"
    key = Key(language.name, pattern)
    found: str | None = documents.WORK[work](pattern) if language.simple.fullmatch(pattern) else run(key, work, pattern)
    return found or allowance().failures.get(key)


def _finds(language: _Language, pattern: str, text: str, refusal: str | None) -> bool | None:
    """Whether `pattern` selects anything; None if `text` is no document, False for a pattern that cannot be run."""
    if len(text) > DOCUMENT_CHARACTERS or not text[:1000].lstrip("\ufeff \t\r\n").startswith(language.begins):
        return None
    if refusal is not None:
        return False
    work = f"{language.work}_selects"
    if len(text) <= _SMALL and language.simple.fullmatch(pattern):
        selected: bool | None = documents.WORK[work](pattern, text)
        return selected
    key = Key(language.name, pattern)
    found: bool | None = run(key, work, pattern, text)
    return False if key in allowance().failures else found
