"""Reads JSON with comments, and YAML, into values that know their lines.

Both give the same values: a scalar keeps its text as it is written, so that a version 1.10 stays one. JSON may have comments
and commas before a bracket that closes. Of YAML only what JSON could say as well is read: an anchor, an alias, a tag or a
second document is refused, so nothing in a text can grow or be made. A key that stands twice is refused in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Literal

from .lazy import lazy_regex

CHARACTERS = 1_000_000
"""Characters of a text; a longer one is refused."""
DEPTH = 20
"""How deep lists and maps may stand in each other."""
Kind = Literal["text", "whole", "number", "flag", "null", "list", "map"]
_BLANK = lazy_regex(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = lazy_regex(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|(?:true|false|null)(?!\w)")
_WHOLE = lazy_regex(r"-?[0-9]{1,15}")
_NUMBER = lazy_regex(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_UNWRITABLE = lazy_regex("[\0\ud800-\udfff]")
_SEEN = {"map": "an object", "list": "a list", "null": "nothing", "flag": "true or false"}


class Unreadable(Exception):  # noqa: N818 - what a text is, not a defect
    """A text that is not what it says it is; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass
class Located:
    """A value and the line where it begins. `text` is that of a scalar, as it is written."""

    kind: Kind
    line: int
    text: str = ""
    items: list[Located] = field(default_factory=list)
    pairs: dict[str, Located] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether it is a scalar that says something: what is no text has the text that it is written as."""
        return self.kind in ("text", "whole", "number", "flag")

    @property
    def seen(self) -> str:
        """What it is, for an error."""
        return _SEEN.get(self.kind) or f"{self.text[:40]!r}"

    @property
    def value(self) -> Any:
        """The value itself, as JSON has it."""
        if self.kind in ("list", "map"):
            return [each.value for each in self.items] if self.kind == "list" else self._object()
        if self.kind in ("whole", "number"):
            return int(self.text) if self.kind == "whole" else float(self.text)
        return {"null": None, "flag": self.text == "true"}.get(self.kind, self.text)

    def _object(self) -> dict[str, Any]:
        return {key: each.value for key, each in self.pairs.items()}

    def add(self, key: str, line: int, value: Located) -> None:
        """Add a pair of a map; raises `Unreadable` where the key is there already."""
        if key in self.pairs:
            raise Unreadable(line, f"{key[:60]!r} stands here and in line {self.key_lines[key]}; keep one")
        self.pairs[key], self.key_lines[key] = value, line


def read_located(text: str, syntax: str) -> Located:
    """The value of a text in the syntax jsonc or yaml. Raises `Unreadable` with the line and what is wrong."""
    if len(text) > CHARACTERS:
        raise Unreadable(1, f"it has {len(text):,} characters, and at most {CHARACTERS:,} are read")
    if unwritable := _UNWRITABLE.search(text):
        raise Unreadable(text.count("\n", 0, unwritable.start()) + 1, f"the character {unwritable[0]!r} is not allowed")
    text = text.removeprefix("\ufeff")
    return _Yaml(text).document() if syntax == "yaml" else _Jsonc(text).document()


class _Jsonc:
    """A reader of JSON that passes over comments; `at` is where it stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0

    def document(self) -> Located:
        value = self._value(0)
        if self._next():
            raise self._fault(f"{self._next()!r} stands behind the end")
        return value

    def _next(self) -> str:
        """The next character that is neither white space nor in a comment; '' at the end."""
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at
        if self._text.startswith("/*", self._at):
            raise self._fault("a comment /* has no end")
        return self._text[self._at : self._at + 1]

    def _here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _fault(self, message: str) -> Unreadable:
        return Unreadable(self._here(), message)

    def _value(self, depth: int) -> Located:
        first = self._next()
        line = self._here()
        if depth > DEPTH:
            raise self._fault(f"it is nested deeper than {DEPTH}")
        if first == "{":
            return self._map(Located("map", line), depth)
        if first == "[":
            return self._list(Located("list", line), depth)
        if first == '"':
            return Located("text", line, self._string())
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._fault(
                f"{self._text[self._at : self._at + 20]!r} is not a value" if first else "the text ends early"
            )
        self._at = word.end()
        return Located(_kind(word[0]), line, word[0])

    def _string(self) -> str:
        try:
            text, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._at = min(error.pos, len(self._text))
            raise self._fault(f"a text in quotes is wrong: {error.msg.removesuffix(' at').lower()}") from error
        if unwritable := _UNWRITABLE.search(text):
            raise self._fault(f"the character {unwritable[0]!r} is not allowed in a text")
        return str(text)

    def _map(self, found: Located, depth: int) -> Located:
        for _ in self._elements("}"):
            if self._next() != '"':
                raise self._fault(f"a name in double quotes is missing before {self._text[self._at : self._at + 20]!r}")
            line, key = self._here(), self._string()
            if self._next() != ":":
                raise self._fault(f"':' is missing behind {key[:60]!r}")
            self._at += 1
            found.add(key, line, self._value(depth + 1))
        return found

    def _list(self, found: Located, depth: int) -> Located:
        for _ in self._elements("]"):
            found.items.append(self._value(depth + 1))
        return found

    def _elements(self, end: str) -> Iterator[None]:
        """Stand at each element of a list or a map, until its end; the last one may have a comma behind it."""
        self._at += 1
        while self._next() != end:
            yield
            if self._next() not in (",", end):
                raise self._fault("the text ends early" if not self._next() else f"',' or '{end}' is missing")
            self._at += self._next() == ","
        self._at += 1


class _Yaml:
    """A reader of the events that PyYAML makes of a text; none of its objects are made."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[Any] = iter(())

    def document(self) -> Located:
        import yaml  # type: ignore[import-untyped]

        self._events = yaml.parse(self._text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        try:
            self._take("StreamStart")
            if self._take("").__class__.__name__ == "StreamEndEvent":
                raise Unreadable(1, "it is empty")
            value = self._value(self._take(""), 0)
            self._take("DocumentEnd")
            end = self._take("")
            if end.__class__.__name__ != "StreamEndEvent":
                raise Unreadable(_line(end), "a second document begins; keep one")
        except yaml.reader.ReaderError as error:
            line = self._text.count("\n", 0, error.position) + 1
            raise Unreadable(line, f"a character is not allowed in YAML: {error.reason}") from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            said = " ".join(filter(None, (error.context, error.problem)))
            raise Unreadable(mark.line + 1 if mark else 1, f"it is not YAML: {said}") from error
        return value

    def _take(self, kind: str) -> Any:
        event = next(self._events)
        assert not kind or event.__class__.__name__ == f"{kind}Event", event
        return event

    def _value(self, event: Any, depth: int) -> Located:
        kind, line = event.__class__.__name__, _line(event)
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise Unreadable(line, "anchors and aliases (& and *) are not read; write the text where it belongs")
        if event.tag is not None:
            raise Unreadable(line, f"the tag {str(event.tag)[:60]!r} is not read; leave it out")
        if depth > DEPTH:
            raise Unreadable(line, f"it is nested deeper than {DEPTH}")
        if kind == "ScalarEvent":
            if unwritable := _UNWRITABLE.search(event.value):
                raise Unreadable(line, f"the character {unwritable[0]!r} is not allowed in a text")
            return Located(_kind(event.value) if not event.style else "text", line, event.value)
        found = Located("map" if kind == "MappingStartEvent" else "list", line)
        while not (event := self._take("")).__class__.__name__.endswith("EndEvent"):
            if found.kind == "list":
                found.items.append(self._value(event, depth + 1))
                continue
            key = self._value(event, depth + 1)
            if not key.is_text:
                raise Unreadable(key.line, f"a name must be a text, not {key.seen}")
            found.add(key.text, key.line, self._value(self._take(""), depth + 1))
        return found


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _kind(text: str) -> Kind:
    """What a scalar without quotes is. The words of YAML 1.1 such as yes, on and 0777 are texts and numbers as written."""
    if text in ("", "~", "null"):
        return "null"
    if text in ("true", "false"):
        return "flag"
    if _WHOLE.fullmatch(text):
        return "whole"
    return "number" if _NUMBER.fullmatch(text) else "text"
