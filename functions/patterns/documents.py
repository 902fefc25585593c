"""What a JSONPath or an XPath selects in a document. It takes what time and memory it takes: `queries` sees to the limits.

Models write the queries and the documents come from anywhere: the parsers load nothing from the network and expand no
entities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from engine.functions.lazy import lazy_regex

from .regexes import limited

_DECLARATION = lazy_regex(r"^\ufeff?\s*<\?xml[^>]*\?>")
_HTML = lazy_regex(r"<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def jsonpath_invalid(pattern: str) -> str | None:
    """Why a JSONPath cannot be read; None if it can."""
    compiled = _compile_jsonpath(pattern)
    return compiled if isinstance(compiled, str) else None


def jsonpath_selects(pattern: str, text: str) -> bool | None:
    """Whether `pattern` selects anything in the JSON document `text`; None if `text` is not one, or too deep."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    compiled = _compile_jsonpath(pattern)
    if isinstance(compiled, str):
        return False
    from jsonpath import JSONPathError

    try:
        return any(True for _ in compiled.finditer(document))
    except (JSONPathError, RecursionError, TypeError, ValueError, LookupError, AttributeError):
        return False


@lru_cache(maxsize=256)
def _compile_jsonpath(pattern: str) -> Any:
    """The compiled path, or a sentence that says why it is not valid."""
    from jsonpath import JSONPathError

    try:
        return _environment().compile(pattern)
    except (JSONPathError, re.error, RecursionError, ValueError, LookupError, TypeError) as problem:
        reason = str(problem).partition("\n")[0] or type(problem).__name__
        return f"JSONPath {pattern!r} is not valid: {reason}; correct it"


@lru_cache(maxsize=1)
def _environment() -> Any:
    """JSONPath whose `match` and `search` have the time limit of all regular expressions from models."""
    from jsonpath import JSONPathEnvironment  # costs 80 ms, rarely needed
    from jsonpath.function_extensions import ExpressionType, FilterFunction

    class Search(FilterFunction):
        """`search(value, regex)`: a hit anywhere."""

        arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 - the library's declaration
        return_type = ExpressionType.LOGICAL

        def __call__(self, value: object, source: object) -> bool:
            return isinstance(value, str) and isinstance(source, str) and limited(source).search(value) > 0

    class Match(Search):
        """`match(value, regex)`: the whole value."""

        def __call__(self, value: object, source: object) -> bool:
            return isinstance(value, str) and isinstance(source, str) and limited(source).fullmatch(value)

    environment = JSONPathEnvironment()
    environment.function_extensions["search"] = Search()
    environment.function_extensions["match"] = Match()
    return environment


def xpath_invalid(pattern: str) -> str | None:
    """Why an XPath cannot be read; None if it can."""
    compiled = _compile_xpath(pattern)
    return compiled if isinstance(compiled, str) else None


def xpath_selects(pattern: str, text: str) -> bool | None:
    """Whether `pattern` selects anything in the XML or HTML document `text`; None if `text` is not one."""
    document = _parse_markup(text)
    if document is None:
        return None
    compiled = _compile_xpath(pattern)
    if isinstance(compiled, str):
        return False
    from lxml import etree  # type: ignore[import-untyped]

    try:
        found = compiled(document)
    except (etree.XPathError, ValueError, RecursionError):
        return False
    return bool(found) and found == found  # NaN is a number that found nothing


@lru_cache(maxsize=256)
def _compile_xpath(pattern: str) -> Any:
    """The compiled path, or a sentence that says why it is not valid."""
    from lxml import etree  # costs 50 ms, rarely needed

    try:
        return etree.XPath(pattern, regexp=False)
    except (etree.XPathError, ValueError) as problem:
        return f"XPath {pattern!r} is not valid: {problem}; correct it"


def _parse_markup(text: str) -> Any:
    """The root element of XML, or of a text that declares itself HTML; None for any other text."""
    from lxml import etree

    source = _DECLARATION.sub("", text).encode(errors="replace")
    xml = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, encoding="utf-8")
    html = etree.HTMLParser(no_network=True, encoding="utf-8")
    for parser in (xml, html) if _HTML.search(text, 0, 2000) else (xml,):
        try:
            root = etree.fromstring(source, parser)
        except (etree.XMLSyntaxError, ValueError):
            continue
        if root is not None:
            return root
    return None


WORK: dict[str, Callable[..., Any]] = {
    work.__name__: work for work in (jsonpath_invalid, jsonpath_selects, xpath_invalid, xpath_selects)
}
"""What the helper process can be asked for."""
