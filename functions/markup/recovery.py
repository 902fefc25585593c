"""Tags without their closing tag: where the body most likely ends, and the warning about it."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

from engine.functions.notations import answer_of, notation_of

from .bodies import Bodies
from .calls import TARGETS
from .grammar import begins_line, skip_space
from .tags import Shape, Tag


class Recovery(NamedTuple):
    """The body of an unclosed tag ends at `body_end` (None: it has no body), reading goes on at `resume`.

    A mention (`resume` at the end of the tag's name) is no call.
    """

    body_end: int | None
    resume: int
    warning: str
    mention: bool = False


class Recoveries:
    """Decides about the unclosed tags of one text; `outer` matches whatever can begin a call."""

    def __init__(self, bodies: Bodies, outer: re.Pattern[str]) -> None:
        self.bodies = bodies
        self.answer = answer_of(bodies.text, bodies.grammar)
        self.outer = outer
        self.text = bodies.text

    def of(self, tag: Tag) -> Recovery:
        """What to do with `tag`, which has no closing tag of its own."""
        if self._meant_self_closing(tag):
            warning = f"Unclosed <{tag.name}>: it has neither a slash nor a body; it was read as self-closing"
            return Recovery(None, tag.end, warning)
        close = self.bodies.first_close(tag)
        sibling = self.bodies.next_sibling(tag)
        if close and not 0 <= sibling < close.start:
            warning = f"Unclosed <{tag.name}> inside <{tag.name}>: the first </{tag.name}> was taken as its end"
            return Recovery(close.start, close.end, warning)
        if not tag.attributes and sibling < 0 and not begins_line(self.text, tag.start):
            warning = f"Unclosed <{tag.name}> in a sentence: it was read as a mention, not run"
            return Recovery(None, tag.start + 1, warning, mention=True)
        return self._cut_short(tag, sibling)

    def next_is_open_tag(self, tag: Tag) -> bool:
        """Does another tool's open tag follow `tag` directly?"""
        following = self.bodies.grammar.tag.match(self.text, skip_space(self.text, tag.end))
        return following is not None and not following["slash"]

    def _meant_self_closing(self, tag: Tag) -> bool:
        if self.next_is_open_tag(tag):
            return True
        if not any(target in tag.attributes for target in TARGETS.get(tag.name, ())):
            return False
        following = self.bodies.grammar.tag.search(self.text, tag.end)
        return following is None or not following["slash"]

    def _cut_short(self, tag: Tag, sibling: int) -> Recovery:
        """The body ends at a wrong closing tag or before the calls that follow, whichever comes first."""
        suffix = self._clean_after(tag.end)
        limit = min(position for position in (sibling, suffix, len(self.text)) if position >= 0)
        wrong = self.bodies.foreign_close(tag, limit)
        if wrong:
            name, close = wrong
            warning = f"Mismatched </{name}> closing <{tag.name}>: it was corrected to </{tag.name}>"
            return Recovery(close.start, close.end, warning)
        if limit == len(self.text):
            inside = sum(1 for _ in self.bodies.grammar.tag.finditer(self.text, tag.end))
            also = f", {inside} tool tag(s) with it" if inside else ""
            warning = f"Unclosed <{tag.name}>: its body was taken to the end of the answer{also}"
            return Recovery(max(tag.end, limit - self._cut_close(tag.name)), limit, warning)
        if limit == suffix:
            count = self._chain_length(suffix)
            warning = f"Unclosed <{tag.name}>: recovered {count} trailing tool call(s) behind its body"
        else:
            warning = f"Unclosed <{tag.name}>: its body was ended before the next <{tag.name}>"
        return Recovery(limit, limit, warning)

    def _cut_close(self, name: str) -> int:
        """How many characters of an incomplete closing tag stand at the end of the answer."""
        start = self.text.rfind("</", -len(name) - 2)
        tail = self.text[start:].lower()
        return len(tail) if start >= 0 and f"</{name}".startswith(tail) else 0

    def _clean_after(self, position: int) -> int:
        """The first place from `position` on behind which there are only well-formed calls; -1 for none."""
        index = bisect_left(self._clean, position)
        return self._clean[index] if index < len(self._clean) else -1

    def _chain_length(self, position: int) -> int:
        count = 0
        while position in self._clean_ends:
            position = skip_space(self.text, self._clean_ends[position])
            count += 1
        return count

    @cached_property
    def _clean(self) -> list[int]:
        return sorted(self._clean_ends)

    @cached_property
    def _clean_ends(self) -> dict[int, int]:
        """The start and end of each well-formed call behind which there are only such calls up to the end of the text."""
        # From left to right first: the notations rely on that direction.
        ends, claimed = list[tuple[int, int]](), 0
        for head in self.outer.finditer(self.text):
            if head.start() < claimed:
                continue  # part of a call that cannot be read
            start, end, claimed = self._call(head)
            ends.append((start, end))
        clean = dict[int, int]()
        for start, end in reversed(ends):
            follower = skip_space(self.text, end) if end >= 0 else -1
            if follower == len(self.text) or follower in clean:
                clean[start] = end
        return clean

    def _call(self, head: re.Match[str]) -> tuple[int, int, int]:
        """Where the call at `head` starts and ends, -1 if it is not well-formed; and where the text ends that it claims."""
        start = head.start()
        notation = notation_of(head.lastgroup)
        if notation is not None:
            reading = notation.read(self.answer, head)
            if reading is None or reading.problem or not reading.calls or reading.open_from >= 0:
                return start, -1, max(reading.claimed, reading.end) if reading else 0
            return reading.start if reading.start >= 0 else start, reading.end, 0
        if head.lastgroup != "tag" or head["slash"]:
            return start, -1, 0
        tag = self.bodies.reader.read(head["name"].lower(), start, head.end())
        if tag.shape is not Shape.WHOLE or tag.repairs:
            return start, -1, 0
        close = None if tag.closed else self.bodies.close_of(tag)
        return start, tag.end if tag.closed else close.end if close else -1, 0
