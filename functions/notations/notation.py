"""What all notations of tool calls share: the interface of one, what it reads, and the answer that it reads from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import Grammar, begins_line
from engine.functions.notations.call_ends import Behind
from engine.functions.notations.claims import Claims
from engine.functions.notations.thought_ends import Closing, closings
from engine.functions.notations.values import Values

UNREAD = "it is in a notation that is not read"
"""The problem of a call in a notation that is not read."""
_NEAR = 80
"""So many blanks may stand between two calls on one line."""
_LAST_WORD = lazy_regex(r"[.:/]")


class Call(NamedTuple):
    """A call: its tool in lower case, its arguments as a JSON value, its place `text[start:end]`."""

    name: str
    arguments: Any
    start: int
    end: int


@dataclass(slots=True)
class Reading:
    """What was read at the head of a notation: the calls or the reasoning, and the `end` of their text.

    `start` is where their text begins, -1 for the head. `unknown` names the tools that do not exist; their calls stay in
    the text. `problem` says why something could not be read: that part claims the text up to `claimed`, of which nothing
    is read again; `behind` tells what stands before its end, where that is known. `foreign` is true if the whole notation
    is not read. `data` is true for JSON that calls nothing; `untold` for a claim that needs no warning. `open_from` is
    where a call begins whose end was not seen, -1 for none.
    """

    end: int
    calls: list[Call] = field(default_factory=list)
    reasoning: str | None = None
    unknown: list[str] = field(default_factory=list)
    problem: str | None = None
    claimed: int = 0
    start: int = -1
    behind: Behind | None = None
    foreign: bool = False
    data: bool = False
    untold: bool = False
    open_from: int = -1


class Notation(Protocol):
    """A family of notations. To add one: write a module with such a class, and add it to `NOTATIONS`."""

    name: str
    """A word, also that of a group of a regular expression."""

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """How its calls begin: by the first character, a pattern for what follows it.

        The patterns of one answer are tried at each such character, so they must fail soon. They have no named groups.
        """
        ...

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """What begins at the head `found`: a reading, with what it claims if it cannot be read; None for ordinary text.

        Its time is in proportion to the text that it returns or claims; a search that may fail is one of `Answer`.
        """
        ...


class Answer:
    """The text of one answer, and what the notations know of it. It is read from left to right."""

    def __init__(self, text: str, grammar: Grammar, heads: re.Pattern[str]) -> None:
        self.text = text
        self.grammar = grammar
        self.heads = heads
        self.values = Values(text)
        self.broken = set[int]()
        """Where JSON begins that was found broken, as a part of a wrapper or a list."""
        self.whole = 0
        """Where the last thing ends that was read with its own end: a call, thoughts, data, a quotation."""
        self.edge = 0
        """Where the last call or the last thoughts end. What follows begins as if on a line of its own."""
        self._missing = dict[str, int]()

    @cached_property
    def claims(self) -> Claims:
        """Decides what belongs to calls that cannot be read."""
        return Claims(self.text, self.grammar, self.values, self.heads)

    @cached_property
    def closings(self) -> list[Closing]:
        """All that may close thoughts, in its order."""
        return closings(self.text, self.grammar)

    def next_closing(self, position: int) -> Closing | None:
        """The first end of thoughts that starts at or after `position`."""
        index = bisect_left(self.closings, (position, 0))
        return self.closings[index] if index < len(self.closings) else None

    def begins(self, position: int) -> bool:
        """Does `position` begin a line, or follow a call or thoughts that ended?"""
        return self._follows(position) or begins_line(self.text, position)

    def frame(self, start: int, end: int) -> None:
        """Note that `text[start:end]` is a token which stands for nothing: behind a call it belongs to its end."""
        if self._follows(start):
            self.edge = end

    def _follows(self, position: int) -> bool:
        return 0 < self.edge <= position <= self.edge + _NEAR and not self.text[self.edge : position].strip()

    def search(self, pattern: re.Pattern[str], position: int) -> re.Match[str] | None:
        """The first match at or after `position`. A pattern that was not found once is not searched for again."""
        known = self._missing.get(pattern.pattern)
        found = pattern.search(self.text, position) if known is None or position < known else None
        if found is None:
            self._missing[pattern.pattern] = min(position, known if known is not None else position)
        return found

    def followed(self, pattern: re.Pattern[str], follows: re.Pattern[str], position: int) -> re.Match[str] | None:
        """The first match at or after `position` with `follows` behind it; as `search`, it does not repeat what failed."""
        both = f"{pattern.pattern}\0{follows.pattern}"
        known = self._missing.get(both)
        if known is not None and position >= known:
            return None
        at = position
        while (found := self.search(pattern, at)) is not None:
            if follows.match(self.text, found.end()):
                return found
            at = found.end()
        self._missing[both] = position
        return None

    def find(self, sign: str, position: int) -> int:
        """Where `sign` stands at or after `position`, or -1; as `search`, it does not repeat what failed."""
        known = self._missing.get(sign)
        at = self.text.find(sign, position) if known is None or position < known else -1
        if at < 0:
            self._missing[sign] = min(position, known if known is not None else position)
        return at

    def named(self, name: str, arguments: object, start: int, end: int) -> Reading:
        """The reading of one call. Of a name such as `functions.get` only the last word counts."""
        word = _LAST_WORD.split(name)[-1].lower()
        if word not in self.grammar.names:
            return Reading(end, unknown=[name])
        return Reading(end, [Call(word, arguments, start, end)])
