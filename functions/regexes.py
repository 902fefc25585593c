"""Regular expressions that a model wrote: compiled with bounds, run with a time limit.

With Python's own matcher an expression can run for years. Here a match that takes too long counts as no match, and the
expression is refused from then on, so that a query over many entries waits only once.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from engine.functions.lazy import lazy_regex

TIME_LIMIT = 0.4
"""Seconds one match may take."""
MAXIMUM_SOURCE = 1000
"""Longest expression in code points."""
_MAXIMUM_REPEATS = 50_000
"""Largest product of the counts in an expression: nested counts take that much memory when compiled."""
_COUNT = lazy_regex(r"\{(\d+)")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


class Limited:
    """A regular expression with a time limit, compiled when it is first needed.

    `failure` is None, or a sentence if it is too long, not valid or ran out of time. Then it matches nothing.
    """

    def __init__(self, source: str, flags: str) -> None:
        self.failure: str | None = None
        self._compiled: Any = None
        self._source, self._flags = source, flags
        if len(source) > MAXIMUM_SOURCE:
            self.failure = f"regex has {len(source)} characters, the limit is {MAXIMUM_SOURCE}: use a shorter one"
        elif math.prod(int(count[:9]) or 1 for count in _COUNT.findall(source)) > _MAXIMUM_REPEATS:
            self.failure = f"regex {source!r} repeats too often: use smaller counts"

    def error(self) -> str | None:
        """`failure`; compiles the expression to see whether it is valid."""
        self._compile()
        return self.failure

    def _compile(self) -> None:
        """Compile with the flags of the slash notation; g, y, u and v only steer a search."""
        if self._compiled is not None or self.failure is not None:
            return
        import regex  # type: ignore[import-untyped]  # most runs never need it

        combined = 0
        for flag in self._flags:
            combined |= _FLAGS.get(flag, 0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._compiled = regex.compile(self._source, combined)
        except (regex.error, ValueError, LookupError, OverflowError, RecursionError, MemoryError) as problem:
            self.failure = f"regex {self._source!r} is not valid: {problem or type(problem).__name__}; correct it"

    def _within_limit(self, run: Callable[[Any], Any]) -> Any:
        """The result of `run` on the compiled expression; None if it is not valid or its time ran out."""
        self._compile()
        if self.failure is not None:
            return None
        try:
            return run(self._compiled)
        except (TimeoutError, MemoryError, RuntimeError):
            self.failure = f"regex {self._source!r} took longer than {TIME_LIMIT} s: use a simpler one"
            return None

    def search(self, text: str) -> int:
        """The 1-based position of the first hit in `text`, 0 if there is none."""
        hit = self._within_limit(lambda compiled: compiled.search(text, timeout=TIME_LIMIT))
        return hit.start() + 1 if hit else 0

    def fullmatch(self, text: str) -> bool:
        """Whether all of `text` matches."""
        return bool(self._within_limit(lambda compiled: compiled.fullmatch(text, timeout=TIME_LIMIT)))

    def hits(self, text: str, limit: int) -> list[Any]:
        """The first `limit` matches in `text`; none of them if the time ran out."""

        def collect(compiled: Any) -> list[Any]:
            found: Iterator[Any] = compiled.finditer(text, timeout=TIME_LIMIT)
            return [hit for hit, _ in zip(found, range(limit), strict=False)]

        return self._within_limit(collect) or []


@lru_cache(maxsize=256)
def limited(source: str, flags: str = "") -> Limited:
    """The `Limited` of an expression, shared so that its failure is remembered."""
    return Limited(source, flags)
