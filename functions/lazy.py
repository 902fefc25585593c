"""Regular expressions that are compiled at their first use.

The functions have 150 of them and a run uses about 30; compiling all takes longer than a turn.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn")


def lazy_regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The regular expression `source`, not compiled yet. It has the methods of `re.Pattern` and its `pattern`."""
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))


class _Lazy:
    """Compiles when a method is first used, and then has the methods of the compiled expression as its own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
