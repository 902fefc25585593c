"""The limits of time and memory of responses, patterns, queries, edits and summaries, whoever wrote them.

Each limit stands here once, with its unit. What a match may take is a limit of its own; what all matches of one statement
may take together is an `Allowance`, which the engine opens around the statement. A match that breaks a limit counts as no
hit, and the allowance remembers why, for `pattern_error` and for whoever asked.

spec: @limits
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple


class Limit(NamedTuple):
    """A limit: its name, its value in `unit`, and what it holds for."""

    name: str
    value: float
    unit: str
    holds_for: str


RESPONSE_CHARACTERS = 1_000_000
REFUSED_CALLS = 1_000
MATCH_SECONDS = 0.4
QUERY_SECONDS = 2.0
STATEMENT_SECONDS = 5.0
HELPER_BYTES = 1_000_000_000
DOCUMENT_CHARACTERS = 2_000_000
REGEX_CHARACTERS = 1_000
PATTERN_CHARACTERS = 4_096
EDIT_SECONDS = 5.0
RESULT_CHARACTERS = 8_000_000
SUBSTITUTION_HITS = 100_000
SUMMARY_CHARACTERS = 100_000
SUMMARY_SECONDS = 0.3
DIFF_LINES = 20_000
SHELL_LINE_CHARACTERS = 20_000
SHELL_LINE_SECONDS = 0.3
SQL_SECONDS = 10.0
SQL_VALUE_BYTES = 32_000_000
SQL_RESULT_BYTES = 256_000_000
SQL_MEMORY_BYTES = 512_000_000
SQL_TEXT_BYTES = 1_000_000
SQL_LIKE_BYTES = 500

LIMITS = (
    Limit("RESPONSE_CHARACTERS", RESPONSE_CHARACTERS, "characters", "a model's response; the rest is cut off"),
    Limit("REFUSED_CALLS", REFUSED_CALLS, "calls", "a response that are not run; the rest of it is not read"),
    Limit("MATCH_SECONDS", MATCH_SECONDS, "s of CPU", "one match of a regex or a glob with one text"),
    Limit("QUERY_SECONDS", QUERY_SECONDS, "s of CPU", "one JSONPath or XPath on one document"),
    Limit("HELPER_BYTES", HELPER_BYTES, "bytes", "the memory of the process in which it runs"),
    Limit("STATEMENT_SECONDS", STATEMENT_SECONDS, "s of CPU", "all matches of one statement, such as one dispatch"),
    Limit("PATTERN_CHARACTERS", PATTERN_CHARACTERS, "characters", "a pattern; a longer one is literal text"),
    Limit("REGEX_CHARACTERS", REGEX_CHARACTERS, "characters", "a regex"),
    Limit(
        "DOCUMENT_CHARACTERS", DOCUMENT_CHARACTERS, "characters", "a document; a longer one is searched as plain text"
    ),
    Limit("EDIT_SECONDS", EDIT_SECONDS, "s of CPU", "what one body or patch changes in one text"),
    Limit(
        "RESULT_CHARACTERS", RESULT_CHARACTERS, "characters", "the text that edits make, or twice the text before them"
    ),
    Limit("SUBSTITUTION_HITS", SUBSTITUTION_HITS, "hits", "the regex of a sed substitution"),
    Limit("SUMMARY_CHARACTERS", SUMMARY_CHARACTERS, "characters", "source that is parsed; longer source is skimmed"),
    Limit("SUMMARY_SECONDS", SUMMARY_SECONDS, "s of CPU", "parsing it by tree-sitter; then it is skimmed"),
    Limit("DIFF_LINES", DIFF_LINES, "lines", "a changed region that is compared line by line"),
    Limit(
        "SHELL_LINE_CHARACTERS", SHELL_LINE_CHARACTERS, "characters", "a command line that is read; a longer one asks"
    ),
    Limit("SHELL_LINE_SECONDS", SHELL_LINE_SECONDS, "s of CPU", "parsing it; then it asks"),
    Limit("SQL_SECONDS", SQL_SECONDS, "s", "a statement of `db.sql`; `--timeout` of `engine sql` sets another"),
    Limit("SQL_VALUE_BYTES", SQL_VALUE_BYTES, "bytes", "one value of it"),
    Limit("SQL_RESULT_BYTES", SQL_RESULT_BYTES, "bytes", "all values that it returns"),
    Limit("SQL_MEMORY_BYTES", SQL_MEMORY_BYTES, "bytes", "the memory that SQLite takes for it"),
    Limit("SQL_TEXT_BYTES", SQL_TEXT_BYTES, "bytes", "its own text"),
    Limit("SQL_LIKE_BYTES", SQL_LIKE_BYTES, "bytes", "a pattern of its LIKE and GLOB"),
)


class Key(NamedTuple):
    """What an allowance knows a pattern by."""

    kind: str
    source: str
    flags: str = ""


class Stopped(Exception):  # noqa: N818 - an order, not a defect
    """The statement was told to stop while a pattern was matched."""


class Exceeded(Exception):  # noqa: N818 - an outcome, not a defect
    """A change breaks a limit; the message says which, and what to do."""


class Work:
    """The CPU time of one change of a text, looked at between its steps."""

    def __init__(self) -> None:
        self._until = time.thread_time() + EDIT_SECONDS

    def check(self) -> None:
        """Raise `Exceeded` where the change has taken its time, and `Stopped` where the statement shall end."""
        allowance().check()
        if time.thread_time() > self._until:
            raise Exceeded(
                f"the change took longer than {EDIT_SECONDS:g} s. Nothing was changed. Do it in several steps."
            )


def most_characters(text: str) -> int:
    """How long a change may make `text`."""
    return max(RESULT_CHARACTERS, 2 * len(text))


def too_long(characters: int) -> Exceeded:
    """The error for a change that would make a text longer than `characters`."""
    return Exceeded(f"the change would make more than {characters:,} characters. Nothing was changed. Replace less.")


class Allowance:
    """What the matches of one statement may take; a context manager, inside which `allowance()` returns it.

    `seconds` is CPU time, or a function that tells it when the first match asks. `stopped`, called in between, says whether
    to give up: then `Stopped` is raised. An allowance inside another one is that other one.
    """

    def __init__(
        self, seconds: float | Callable[[], float] = STATEMENT_SECONDS, stopped: Callable[[], bool] | None = None
    ) -> None:
        self._seconds = seconds
        self.failures: dict[Key, str] = {}
        """Why a pattern matches nothing any more."""
        self._stopped = stopped
        self._outer = False

    def __enter__(self) -> Allowance:
        outer: Allowance | None = getattr(_thread, "allowance", None)
        if outer is not None:
            self._outer = True
            return outer
        _thread.allowance = self
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._outer:
            _thread.allowance = None

    @cached_property
    def seconds(self) -> float:
        """The seconds of CPU that all matches together may take."""
        return self._seconds() if callable(self._seconds) else self._seconds

    @cached_property
    def left(self) -> float:
        """What is left of them."""
        return self.seconds

    def check(self) -> None:
        """Raise `Stopped` where the statement shall end."""
        if self._stopped is not None and self._stopped():
            raise Stopped("the statement was stopped while a pattern was matched")

    def grant(self, key: Key, seconds: float) -> float:
        """The seconds that a match may take, at most `seconds`; 0 where the pattern has failed, or nothing is left."""
        self.check()
        if key in self.failures:
            return 0
        if self.left <= 0:
            taken = f"the patterns of this statement took {self.seconds:g} s in all"
            self.fail(
                key, f"{key.kind} {key.source!r} was not matched, {taken}: name fewer entries, or use simpler patterns"
            )
            return 0
        return min(seconds, self.left)

    def fail(self, key: Key, reason: str) -> None:
        """Remember why a pattern matches nothing any more."""
        if len(self.failures) >= _REMEMBERED:
            self.failures.clear()
        self.failures[key] = reason


_REMEMBERED = 1_000
_thread = threading.local()
_unlimited = Allowance(float("inf"))


def allowance() -> Allowance:
    """The allowance of the statement that runs in this thread; outside of one, only each match by itself is limited."""
    return getattr(_thread, "allowance", None) or _unlimited
