"""Regular expressions that a model wrote: compiled with bounds, run with a time limit.

With Python's own matcher an expression can run for years. Here a match that takes too long counts as no match, and the
expression matches nothing more in that statement, so that a search of many entries waits only once.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from engine.functions.lazy import lazy_regex
from engine.functions.limits import MATCH_SECONDS, REGEX_CHARACTERS, Key, allowance

_MAXIMUM_REPEATS = 50_000
"""Largest product of the counts in an expression: nested counts take that much memory when compiled."""
_COUNT = lazy_regex(r"\{(\d+)")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


class Limited:
    """A regular expression with a time limit, compiled when it is first needed. One that has failed matches nothing."""

    def __init__(self, source: str, flags: str) -> None:
        self._invalid: str | None = None
        self._compiled: Any = None
        self._key = Key("regex", source, flags)
        if len(source) > REGEX_CHARACTERS:
            self._invalid = f"regex has {len(source)} characters, but at most {REGEX_CHARACTERS} are allowed"
        elif math.prod(int(count[:9]) or 1 for count in _COUNT.findall(source)) > _MAXIMUM_REPEATS:
            self._invalid = f"regex {source!r} repeats too often: use smaller counts"

    @property
    def failure(self) -> str | None:
        """None, or a sentence where it is known to be too long or not valid, or ran out of time in this statement."""
        return self._invalid or allowance().failures.get(self._key)

    def error(self) -> str | None:
        """`failure`; compiles the expression to see whether it is valid."""
        self._compile()
        return self.failure

    def _compile(self) -> None:
        """Compile with the flags of the slash notation; g, y, u and v only steer a search."""
        if self._compiled is not None or self._invalid is not None:
            return
        import regex  # type: ignore[import-untyped]  # most runs never need it

        combined = 0
        for flag in self._key.flags:
            combined |= _FLAGS.get(flag, 0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._compiled = regex.compile(self._key.source, combined)
        except (regex.error, ValueError, LookupError, OverflowError, RecursionError, MemoryError) as problem:
            self._invalid = f"regex {self._key.source!r} is not valid: {problem or type(problem).__name__}; correct it"

    def _within_limit(self, run: Callable[[Any, float], Any]) -> Any:
        """The result of `run` on the compiled expression and its seconds; None if it is not valid or they ran out."""
        self._compile()
        allowed = allowance()
        if self._invalid is not None or not (seconds := allowed.grant(self._key, MATCH_SECONDS)):
            return None
        began = time.thread_time()
        try:
            return run(self._compiled, seconds)
        except TimeoutError:
            allowed.fail(self._key, f"regex {self._key.source!r} took longer than {seconds:.2g} s: use a simpler one")
        except (MemoryError, RuntimeError):
            allowed.fail(self._key, f"regex {self._key.source!r} needs too much memory: use a simpler one")
        finally:
            allowed.left -= time.thread_time() - began
        return None

    def search(self, text: str) -> int:
        """The 1-based position of the first hit in `text`, 0 if there is none."""
        hit = self._within_limit(lambda compiled, seconds: compiled.search(text, timeout=seconds))
        return hit.start() + 1 if hit else 0

    def fullmatch(self, text: str) -> bool:
        """Whether all of `text` matches."""
        return bool(self._within_limit(lambda compiled, seconds: compiled.fullmatch(text, timeout=seconds)))

    def hits(self, text: str, limit: int) -> list[Any]:
        """The first `limit` matches in `text`; none of them if the time ran out."""

        def collect(compiled: Any, seconds: float) -> list[Any]:
            found: Iterator[Any] = compiled.finditer(text, timeout=seconds)
            return [hit for hit, _ in zip(found, range(limit), strict=False)]

        return self._within_limit(collect) or []


@lru_cache(maxsize=256)
def limited(source: str, flags: str = "") -> Limited:
    """The `Limited` of an expression, compiled once."""
    return Limited(source, flags)
