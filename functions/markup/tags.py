"""Open tags of the model's markup, read with tolerance for errors.

A value may lack its closing quote, contain quotes, or have curly, escaped or no quotes; a tag may lack its `>`.
`Tag.repairs` says what was repaired.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .grammar import Grammar, begins_line, skip_space

_PLAIN = lazy_regex(r"\s+([^\s=<>/\"'`]+)=\"([^\"<]*)\"(?=[\s/>])")
_NAME = lazy_regex(r"[^\s=<>/\"'`]+")
_EQUALS = lazy_regex(r"\s*=\s*")
_OPENING = lazy_regex(r"<\|\"\|>|\\[\"']|[\"'`\u201c\u2018]")
_BARE = lazy_regex(r"[^\s<>]*")
_ENTITY = lazy_regex(r"&(?:(quot|amp|lt|gt|apos)|#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6})));")
_ENTITIES = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'"}
# Attributes whose value may have several lines; signs that show that a value is neither a name nor a number.
_LONG_VALUES = frozenset({"body", "command", "content", "text", "question", "options", "query", "cmd", "code"})
_MARKUP = lazy_regex(r"[<{\[]")
_CLOSING = {"\u201c": "\u201d", "\u2018": "\u2019"}
# What follows a quote that ends a value: the end of the tag, or the next attribute.
_AFTER_VALUE = r"(?=\s*/?>|\s+[\w:.-]+\s*(?:=|/?>))"
_AFTER = lazy_regex(_AFTER_VALUE)
# How many words and values of broken tags are read before each broken tag gets fewer: tags inside the open quotes of
# others would take quadratic time.
_PATIENCE = 500
_LEAST_PATIENCE = 8


class Shape(Enum):
    """How much of an open tag is there."""

    WHOLE = "whole"
    CUT = "cut"  # the answer ends inside a value or among bare words, or it cannot be told where the value ends
    MENTION = "mention"  # a tool's name among prose: no value, no `>`
    ENDLESS = "endless"  # so many words and values that none of them can be meant


class Tag(NamedTuple):
    """An open tag: `text[start:end]`, its attributes (names in lower case, values decoded), its repairs."""

    name: str
    start: int
    end: int
    attributes: dict[str, str]
    closed: bool
    shape: Shape
    repairs: tuple[str, ...]
    # a quote in it has no end, or the text ends before its `>`
    unended: bool = False


def decode_entities(value: str) -> str:
    """`value` with the five predefined XML entities and numeric references decoded, each once."""
    return _ENTITY.sub(_decoded, value) if "&" in value else value


def _decoded(found: re.Match[str]) -> str:
    """The character of a reference; the reference itself where its number is NUL, half a pair, or too great."""
    name, decimal, hexadecimal = found.groups()
    if name:
        return _ENTITIES[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if 0 < number < 0xD800 or 0xDFFF < number < 0x110000 else found[0]


class TagReader:
    """Reads the open tags of one text. It does not repeat a search that failed."""

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.grammar = grammar
        self._next_tag = (0, -1)
        self._odd: dict[int, Tag] = {}
        self._no_quote: dict[str, tuple[int, int]] = {}
        self._last_quote: dict[str, int] = {}
        self.patience = _PATIENCE

    def read(self, name: str, start: int, position: int) -> Tag:
        """The open tag of the tool `name` that starts at `start` and whose attributes start at `position`."""
        text = self.text
        attributes: dict[str, str] = {}
        while plain := _PLAIN.match(text, position):
            attributes.setdefault(plain[1].lower(), decode_entities(plain[2]))
            position = plain.end()
        if text.startswith(">", position):
            return Tag(name, start, position + 1, attributes, False, Shape.WHOLE, ())
        if text.startswith("/>", position):
            return Tag(name, start, position + 2, attributes, True, Shape.WHOLE, ())
        if start not in self._odd:
            self._odd[start] = _TagReading(self, name, start, position, attributes).finish()
        return self._odd[start]

    def next_tag(self, position: int) -> int:
        """Where the next tool tag at or after `position` starts; the length of the text if there is none."""
        begin, end = self._next_tag
        if not begin <= position <= end:
            found = self.grammar.tag.search(self.text, position)
            self._next_tag = (position, found.start() if found else len(self.text))
        return self._next_tag[1]

    def find_quote(self, quote: str, position: int) -> int:
        """Where the next `quote` at or after `position` stands, or -1."""
        if quote not in self._last_quote:
            self._last_quote[quote] = self.text.rfind(quote)
        return self.text.find(quote, position) if position <= self._last_quote[quote] else -1

    def real_end(self, quote: str, position: int, limit: int) -> int:
        """Where in `text[position:limit]` a `quote` is followed by the end of the tag or an attribute; or -1."""
        begin, end = self._no_quote.get(quote, (0, -1))
        if begin <= position and limit <= end:
            return -1
        found = _ending(quote).search(self.text, position, limit)
        if found is None:
            self._no_quote[quote] = (position, limit)
        return found.start() if found else -1


@lru_cache(maxsize=16)
def _ending(quote: str) -> re.Pattern[str]:
    return re.compile(re.escape(quote) + _AFTER_VALUE)


class _TagReading:
    """The slow path of `TagReader.read`: a tag with anything but plain `name="value"` pairs."""

    def __init__(self, reader: TagReader, name: str, start: int, position: int, attributes: dict[str, str]) -> None:
        self.reader = reader
        self.text = reader.text
        self.name = name
        self.start = start
        self.position = position
        self.attributes = attributes
        self.valued = bool(attributes)
        self.closed = self.cut = self.unended = False
        self.repairs: list[str] = []

    def finish(self) -> Tag:
        left = most = max(self.reader.patience, _LEAST_PATIENCE)
        while left and not self._at_end():
            left -= 1
            found = _NAME.match(self.text, self.position)
            if found is None:
                self.position += 1  # a stray quote, slash or equals sign
                continue
            self.position = found.end()
            self._value(found[0].lower())
        shape = self._shape() if left else Shape.ENDLESS
        if shape is not Shape.WHOLE:
            self.reader.patience -= most - left
        return Tag(
            self.name,
            self.start,
            self.position,
            self.attributes,
            self.closed,
            shape,
            tuple(self.repairs),
            self.unended,
        )

    def _at_end(self) -> bool:
        text = self.text
        self.position = skip_space(text, self.position)
        if text.startswith(">", self.position):
            self.position += 1
        elif text.startswith("/", self.position) and text.startswith(">", skip_space(text, self.position + 1)):
            self.position = skip_space(text, self.position + 1) + 1
            self.closed = True
        elif self.position < len(text) and text[self.position] != "<":
            return self.cut
        elif self._may_go_on():
            self.cut = True
            self.position = len(text)
        else:
            self.unended = self.unended or self.position >= len(text)
            self.repairs.append(f"<{self.name}> had no '>'; it was read as ending before what follows")
        return True

    def _may_go_on(self) -> bool:
        """Can the `<` behind a tag without `>` belong to its last value, which has an unescaped quote?"""
        before_close = self.text.startswith("</", self.position)
        # where a value holds words, its quote may have ended it too early
        words = any(character in value for value in self.attributes.values() for character in " \t\n")
        line = not words and begins_line(self.text, self.position)
        ends = self.position >= len(self.text) or before_close or line
        return self.valued and not ends

    def _shape(self) -> Shape:
        if self.cut:
            return Shape.CUT
        ended = self.text[self.position - 1] == ">"
        return Shape.WHOLE if ended or self.valued else Shape.MENTION

    def _value(self, name: str) -> None:
        equals = _EQUALS.match(self.text, self.position)
        if equals is None:
            self.attributes.setdefault(name, "")
            return
        self.valued = True
        self.position = equals.end()
        opening = _OPENING.match(self.text, self.position)
        raw = self._quoted(name, opening) if opening else self._bare(name)
        self.attributes.setdefault(name, decode_entities(raw))

    def _bare(self, name: str) -> str:
        found = _BARE.match(self.text, self.position)
        raw = found[0] if found else ""
        if raw.endswith("/") and self.text.startswith(">", self.position + len(raw)):
            raw = raw[:-1]
        self.position += len(raw)
        if raw.endswith(('"', "'")) and raw.count(raw[-1]) == 1:
            self.repairs.append(
                f"the value of {name} in <{self.name}> had no opening quote; its closing one was left out"
            )
            raw = raw[:-1]
        return raw

    def _quoted(self, name: str, opening: re.Match[str]) -> str:
        quote = _CLOSING.get(opening[0], opening[0])
        begin = opening.end()
        end = self.reader.find_quote(quote, begin)
        if end >= 0 and not self._ends_value(begin, end, end + len(quote)):
            end = self._mended_end(name, quote, begin, end)
        if end < 0:
            return self._unterminated(name, begin)
        self.position = end + len(quote)
        return self.text[begin:end]

    def _ends_value(self, begin: int, end: int, after: int) -> bool:
        if after >= len(self.text):
            return True
        if ">" in self.text[begin:end]:  # perhaps a quote is missing, and this one belongs to later text
            return _AFTER.match(self.text, after) is not None
        return self.text[after] in " \t\r\n/><"

    def _mended_end(self, name: str, quote: str, begin: int, end: int) -> int:
        """The end of a value whose first quote does not end it, as in `"say "hi" now"`; -1 if there is none."""
        limit = self.reader.next_tag(begin)
        real = self.reader.real_end(quote, end + len(quote), limit)
        if real >= 0 and ">" not in self.text[begin:end]:
            self.repairs.append(f"the value of {name} in <{self.name}> held unescaped quotes; they were kept in it")
            return real
        return end if end < limit and ">" not in self.text[begin:end] else -1

    def _holds_calls(self, name: str, begin: int, end: int) -> bool:
        """Can the text behind `text[begin:end]` still belong to the value, which has no closing quote?"""
        own_close = self.text.startswith("</", end) or self.text.startswith(
            f"</{self.name}", self.reader.next_tag(begin)
        )
        if name in _LONG_VALUES:
            return not own_close or _MARKUP.search(self.text, begin, self.reader.next_tag(begin)) is not None
        # a value of one line ends with its line
        return not (own_close or begins_line(self.text, end)) and (
            self.text.startswith("<", end) or _MARKUP.search(self.text, begin, end) is not None
        )

    def _unterminated(self, name: str, begin: int) -> str:
        limit = self.reader.next_tag(begin)
        stop = self.text.find(">", begin, limit)
        if (stop < 0 and limit == len(self.text)) or self._holds_calls(name, begin, limit if stop < 0 else stop):
            self.cut = True
            self.position = len(self.text)
            return self.text[begin:]
        end = limit if stop < 0 else stop - (self.text[stop - 1] == "/" and stop > begin)
        self.position = end
        self.unended = True
        self.repairs.append(f"the value of {name} in <{self.name}> had no closing quote; it was closed there")
        return self.text[begin:end].rstrip()
