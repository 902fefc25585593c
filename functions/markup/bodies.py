"""Bodies of the model's markup: where the body of an open tag ends.

Only tags of the same name matter inside a body: open ones nest, and a closing one ends it. In `set` the text between
`<<IDENT` and `IDENT` is skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .grammar import begins_line, skip_space
from .tags import Shape, Tag, TagReader

_IDENT = r"[A-Z][A-Za-z0-9_]*"
_OPENER = lazy_regex(rf"<<({_IDENT})")
_OPENERS = lazy_regex(rf"(?<![^\s>])<<({_IDENT})")
_CLOSERS = lazy_regex(rf"(?<!\S){_IDENT}(?=[\s<>]|\Z)")
_SECTION_END = lazy_regex(r"\]\]>")
# How often the tags of one name are paired again, for a tag that earlier passes did not see.
_PASSES = 4


class Close(NamedTuple):
    """A closing tag: `text[start:end]`."""

    start: int
    end: int


@dataclass(slots=True)
class _Pairs:
    """The tags of one name: the closing tag of each open one, all closing tags, and the starts of likely siblings."""

    match: dict[int, Close | None] = field(default_factory=dict)
    closes: list[Close] = field(default_factory=list)
    siblings: list[int] = field(default_factory=list)


class Markers:
    """The `<<IDENT … IDENT` regions of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def region_end(self, opener: re.Match[str]) -> int:
        """Where the region that `opener` opens ends, after its closer; -1 when it is never closed."""
        ident = opener[1]
        closer = self.closer(ident, opener.end())
        if closer < 0:
            return -1
        again = self._after(self._openers[ident], opener.end())
        if 0 <= again < closer and self.text.find("</", opener.end(), again) >= 0:
            return -1  # the closer belongs to a later `<<IDENT`, in a later tag
        return closer + len(ident)

    def closer(self, ident: str, position: int) -> int:
        """Where the first closer `ident` at or after `position` starts, or -1."""
        return self._after(self._closers[ident], position)

    @staticmethod
    def _after(positions: list[int], position: int) -> int:
        index = bisect_left(positions, position)
        return positions[index] if index < len(positions) else -1

    @cached_property
    def _closers(self) -> dict[str, list[int]]:
        return self._index(_CLOSERS, 0)

    @cached_property
    def _openers(self) -> dict[str, list[int]]:
        return self._index(_OPENERS, 1)

    def _index(self, pattern: re.Pattern[str], group: int) -> dict[str, list[int]]:
        index = defaultdict[str, list[int]](list)
        for found in pattern.finditer(self.text):
            index[found[group]].append(found.start())
        return index


class Bodies:
    """Finds the ends of bodies in one text. Each table is made once, so that all takes linear time."""

    def __init__(self, reader: TagReader) -> None:
        self.reader = reader
        self.text = reader.text
        self.grammar = reader.grammar
        self._pairs: dict[tuple[str, bool], list[_Pairs]] = defaultdict(list)

    @cached_property
    def markers(self) -> Markers:
        """The marker regions of the text."""
        return Markers(self.text)

    def close_of(self, tag: Tag) -> Close | None:
        """The closing tag of `tag`, or None when it has none of its own."""
        wrapped = self._section(tag) or (None if tag.name == "set" else self._wrapped(tag))
        if wrapped is not None:
            return wrapped
        found = self.grammar.own(tag.name).search(self.text, tag.end)
        if found is None:
            return None
        marked = tag.name == "set" and self._is_marked(tag.end, found.start())
        if found["close"] and not marked:
            return Close(found.start(), found.end())
        close = self._paired(tag, opaque=True) if marked or tag.name == "set" else None
        return close or self._paired(tag, opaque=False)

    def first_close(self, tag: Tag) -> Close | None:
        """The first closing tag of the same name after `tag`, without regard to nesting."""
        closes = self._table(tag, opaque=False).closes
        index = bisect_left(closes, (tag.end, 0))
        return closes[index] if index < len(closes) else None

    def next_sibling(self, tag: Tag) -> int:
        """Where the next open tag of the same name starts that begins a line and has an attribute; or -1."""
        siblings = self._table(tag, opaque=False).siblings
        index = bisect_left(siblings, tag.end)
        return siblings[index] if index < len(siblings) else -1

    def foreign_close(self, tag: Tag, limit: int) -> tuple[str, Close] | None:
        """The first closing tag of another name, from `tag` up to `limit`, that closes nothing in between.

        The end of thoughts is none: it may end those that the prompt opened.
        """
        opened = list[str]()
        position = tag.end
        while found := self.grammar.tag.search(self.text, position, limit):
            position, name = found.end(), found["name"].lower()
            if not found["slash"]:
                inner = self.reader.read(name, found.start(), position)
                position = max(inner.end, position)
                if not inner.closed and inner.shape is Shape.WHOLE:
                    opened.append(name)
            elif name in opened[-8:]:
                while opened.pop() != name:
                    pass
            elif name != tag.name and name not in self.grammar.thoughts:
                end = skip_space(self.text, position)
                return name, Close(found.start(), end + self.text.startswith(">", end))
        return None

    def _is_marked(self, start: int, end: int) -> bool:
        """Does a marker open in `text[start:end]`?"""
        return self.text.find("<<", start, end) >= 0 and _OPENERS.search(self.text, start, end) is not None

    @cached_property
    def _section_ends(self) -> list[int]:
        return [found.start() for found in _SECTION_END.finditer(self.text)]

    def _section(self, tag: Tag) -> Close | None:
        """The closing tag behind a CDATA section that is the whole body; None without such a section."""
        begin = skip_space(self.text, tag.end)
        if not self.text.startswith("<![CDATA[", begin):
            return None
        index = bisect_left(self._section_ends, begin)
        if index == len(self._section_ends):
            return None
        end = self._section_ends[index]
        found = self.grammar.own(tag.name).match(self.text, skip_space(self.text, end + 3))
        return Close(found.start(), found.end()) if found and found["close"] else None

    def _wrapped(self, tag: Tag) -> Close | None:
        """The closing tag behind a heredoc that is the whole body; None without such a heredoc."""
        opener = _OPENER.match(self.text, skip_space(self.text, tag.end))
        if opener is None:
            return None
        closer = self.markers.closer(opener[1], opener.end())
        if closer < 0:
            return None
        found = self.grammar.own(tag.name).match(self.text, skip_space(self.text, closer + len(opener[1])))
        return Close(found.start(), found.end()) if found and found["close"] else None

    def _paired(self, tag: Tag, *, opaque: bool) -> Close | None:
        return self._table(tag, opaque=opaque).match.get(tag.start)

    def _table(self, tag: Tag, *, opaque: bool) -> _Pairs:
        tables = self._pairs[tag.name, opaque]
        for table in tables:
            if tag.start in table.match:
                return table
        if len(tables) == _PASSES:
            return tables[-1]
        tables.append(self._pair(tag, opaque))
        return tables[-1]

    def _pair(self, tag: Tag, opaque: bool) -> _Pairs:
        """Pair all tags of this name from `tag` on, like brackets."""
        pairs, opened, position = _Pairs(), list[int](), tag.start
        own = self.grammar.own(tag.name)
        while found := own.search(self.text, position):
            region_end = self._region_over(position, found.start()) if opaque and opened else -1
            if region_end >= 0:
                position = region_end
            elif found["close"]:
                position = found.end()
                pairs.closes.append(Close(found.start(), position))
                if opened:
                    pairs.match[opened.pop()] = pairs.closes[-1]
            else:
                position = self._note_open(self.reader.read(tag.name, found.start(), found.end()), pairs, opened)
                position = position if position >= 0 else found.end()
        return pairs

    def _note_open(self, inner: Tag, pairs: _Pairs, opened: list[int]) -> int:
        """Record an open tag in `pairs`: where it ends, or -1 when it is a mention in prose."""
        if inner.shape is not Shape.WHOLE:
            return -1
        if any(inner.attributes.values()) and begins_line(self.text, inner.start):
            pairs.siblings.append(inner.start)
        if not inner.closed:
            pairs.match[inner.start] = None
            opened.append(inner.start)
        return inner.end

    def _region_over(self, position: int, limit: int) -> int:
        """The end of the marker region that opens after `position` and reaches over `limit`; or -1."""
        opener = _OPENERS.search(self.text, position, limit)
        while opener:
            end = self.markers.region_end(opener)
            if end > limit:
                return end
            position = max(end, opener.end())
            # A marker may follow the one before without a space.
            opener = _OPENER.match(self.text, position, limit) or _OPENERS.search(self.text, position, limit)
        return -1
