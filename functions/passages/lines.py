"""The lines of a file: which of them stand under which, and which are one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from engine.functions.lazy import lazy_regex

_HEADING = lazy_regex(r"#{1,6} +\S|\[[^\]\n]+\]\s*$")
_UNDERLINE = lazy_regex(r"([=\-~^*\"'+#])\1{2,}\s*$")
_CLOSING = (")", "]", "}")
_SENTENCE_END = lazy_regex(r"(?<=[.!?])\s+(?=[A-Z\"'`*(])")
_ITEM = lazy_regex(r"\s*(?:[-*+]|\d+[.)]|[A-Z][\w-]+:)\s")
_WORDS = lazy_regex(r"(?<!\S)[(\"'`*]*[A-Za-z][a-z'-]+[,.;:)]*(?!\S)")
_TEST = lazy_regex(r"(?:^|/)(?:tests?|examples?|benchmarks?)/|(?:^|/)test_|_test\.", re.IGNORECASE)
_HISTORY = lazy_regex(r"change|history|release|licen[sc]e|copying|PKG-INFO|egg-info", re.IGNORECASE)
_PROSE = lazy_regex(r"(?:\.(?:md|rst|txt|adoc)|(?:^|/)[^./]+)$", re.IGNORECASE)
_IN_TESTS = 0.6
_IN_HISTORY = 0.75
_PARAGRAPH = 8
_FAR = 400


@dataclass
class File:
    """A file: its lines, and which terms each line has (by number, from 0)."""

    path: str
    lines: list[str]
    hits: dict[int, set[int]] = field(default_factory=dict)
    named: dict[int, float] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """How much its lines count: those of tests, examples and histories less than the others."""
        return _IN_TESTS if _TEST.search(self.path) else _IN_HISTORY if _HISTORY.search(self.path) else 1.0

    @property
    def is_prose(self) -> bool:
        """Whether it may hold sentences that go on over several lines."""
        return bool(_PROSE.search(self.path))


def units(file: File, line: int) -> list[tuple[int, int, str]]:
    """The sentences that a line of prose is a part of, each with its first and last line; else the line itself."""
    text = file.lines[line].strip()
    if not file.is_prose or not is_prose(text):
        return [(line, line, text)]
    first = last = line
    while line - first < _PARAGRAPH and first and _continues(file, first):
        first -= 1
    while last - line < _PARAGRAPH and last + 1 < len(file.lines) and _continues(file, last + 1):
        last += 1
    found: list[tuple[int, int, str]] = []
    rest: list[str] = []
    begin = first
    for number in range(first, last + 1):
        pieces = _SENTENCE_END.split(file.lines[number].strip())
        for at, piece in enumerate(pieces):
            if not rest:
                begin = number
            rest.append(piece)
            if at < len(pieces) - 1 or number == last or piece.endswith((".", "!", "?")):
                if begin <= line <= number:
                    found.append((begin, number, " ".join(rest)))
                rest = []
    return found


def _continues(file: File, line: int) -> bool:
    """Whether a line goes on with the sentence or the paragraph of the one before it."""
    before, text = file.lines[line - 1], file.lines[line]
    return bool(
        text.strip()
        and is_prose(before.strip())
        and not _ITEM.match(text)
        and not is_heading(file, line - 1)
        and not _UNDERLINE.match(text.strip())
        and (_indent(text) == _indent(before) or (_ITEM.match(before) and _indent(text) > _indent(before)))
    )


def is_prose(line: str) -> bool:
    """Whether a line reads like a part of a sentence."""
    return len(_WORDS.findall(line)) >= 4 and not line.startswith((".. ", "|", "#", ">>>", "$", "import ", "from "))


def above(file: File, line: int) -> list[int]:
    """The lines that a line stands under: those before it that are indented less, the nearest first, and its heading."""
    found: list[int] = []
    indent = _indent(file.lines[line])
    for number in range(line - 1, max(line - _FAR, -1), -1):
        text = file.lines[number]
        if not text.strip() or text.lstrip().startswith(_CLOSING):
            continue
        if _indent(text) < indent:
            found.append(number)
            indent = _indent(text)
        if indent == 0 and is_heading(file, number):
            if number not in found:
                found.append(number)
            break
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def is_heading(file: File, line: int) -> bool:
    """Whether a line heads what follows: `# …`, `[…]`, or underlined."""
    text = file.lines[line]
    if _HEADING.match(text):
        return True
    below = file.lines[line + 1] if line + 1 < len(file.lines) else ""
    return bool(below and _UNDERLINE.match(below) and text.strip() and not _UNDERLINE.match(text))
