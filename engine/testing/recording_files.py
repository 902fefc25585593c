"""How a recording is written: YAML with the texts as they are, so that a change of a packet is a change of its lines.

The same exchanges give the same bytes. A part of a packet that came before is an alias of that (`*system-1`).

spec: @recordings
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from engine.errors import ValidationError

Sections = dict[str, str]
"""The sections of a message by their names."""
_VERSION = 1
_ANCHOR = 20
"""Characters of a name that its anchor has."""
_HEAD = """\
# What models were asked in this test, and what they answered.
# 'pytest --engine-update' asks them again and writes this file anew.
"""
_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# a block holds texts as they are, where YAML takes its characters for themselves
_NO_BLOCK = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_INDENTED = re.compile(r"\n*[ \t]")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_NO_ANCHOR = re.compile(r"[^a-z0-9]+")


@dataclass
class Exchange:
    """A packet as its messages' sections by role, and what came of it: an answer, or an error of the model's.

    `number` counts the answers of the run `run` from 1. `answer` has `text`, and where there are such `reasoning`, `calls`
    (name, arguments), `finish_reason`, `native`, `usage`. `error` has `category`, `status` and `message`.
    """

    run: str
    number: int
    model: str
    packet: dict[str, Sections] = field(default_factory=dict)
    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


def read(path: Path) -> list[Exchange]:
    """The exchanges of a recording; raises `ValidationError` (400) for any other file."""
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValidationError(
            f"{path}: not a recording: {error}; record it again with 'pytest --engine-update'"
        ) from None
    try:
        if told["engine_recording"] != _VERSION:
            raise ValueError(f"its format is {told['engine_recording']!r}, but this engine writes {_VERSION}")
        exchanges = [Exchange(**each) for each in told["exchanges"]]
        for each in exchanges:
            _check(each)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ValidationError(
            f"{path}: not a recording: {error}; record it again with 'pytest --engine-update'"
        ) from None
    return exchanges


def _check(exchange: Exchange) -> None:
    texts = [text for sections in exchange.packet.values() for pair in sections.items() for text in pair]
    if not all(isinstance(text, str) for text in (*texts, *exchange.packet, exchange.run, exchange.model)):
        raise ValueError("its packets must be texts")
    if not isinstance(exchange.number, int) or (exchange.answer is None) is (exchange.error is None):
        raise ValueError("each exchange needs a number, and an answer or an error")


def written(exchanges: list[Exchange]) -> str:
    """The text of a recording."""
    lines = [_HEAD, f"engine_recording: {_VERSION}\n", "exchanges:\n" if exchanges else "exchanges: []\n"]
    anchors = _Anchors(exchanges)
    for exchange in exchanges:
        lines += _exchange(exchange, anchors)
    return "".join(lines)


class _Anchors:
    """Names parts of packets that come again: where they come first they are anchors, later aliases."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        parts = [part for exchange in exchanges for part in _parts(exchange)]
        self._again = {part for part in parts if parts.count(part) > 1}
        self._names: dict[object, str] = {}

    def mark(self, part: object, name: str) -> tuple[str, bool]:
        """What stands before a part, and whether it is an alias, behind which nothing stands."""
        if part not in self._again:
            return "", False
        if part in self._names:
            return f" *{self._names[part]}", True
        base, number = _NO_ANCHOR.sub("-", name.lower())[:_ANCHOR].strip("-") or "part", 1
        while f"{base}-{number}" in self._names.values():
            number += 1
        self._names[part] = f"{base}-{number}"
        return f" &{self._names[part]}", False


def _parts(exchange: Exchange) -> Iterator[object]:
    for role, sections in exchange.packet.items():
        yield role, tuple(sections.items())
        yield from ((role, name, text) for name, text in sections.items())


def _exchange(exchange: Exchange, anchors: _Anchors) -> Iterator[str]:
    yield f"- run: {_scalar(exchange.run, 4)}\n  number: {exchange.number}\n  model: {_scalar(exchange.model, 4)}\n"
    yield "  packet:\n"
    for role, sections in exchange.packet.items():
        mark, is_alias = anchors.mark((role, tuple(sections.items())), role)
        yield f"    {_key(role)}:{mark}{'' if is_alias or sections else ' {}'}\n"
        if not is_alias:
            for name, text in sections.items():
                mark, is_known = anchors.mark((role, name, text), name)
                yield f"      {_key(name)}:{mark}{'' if is_known else ' ' + _scalar(text, 8)}\n"
    for name, told in (("answer", exchange.answer), ("error", exchange.error)):
        if told is not None:
            yield f"  {name}:\n"
            yield from (f"    {_key(key)}: {_scalar(value, 6)}\n" for key, value in told.items())


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else _json(name)


def _scalar(value: object, indent: int) -> str:
    """A value of YAML; a text of several lines is a block, indented by so many blanks."""
    if not isinstance(value, str):
        return _json(value)
    if "\n" not in value or not value.strip("\n") or _NO_BLOCK.search(value):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _json(value)
    chomping = "-" if not value.endswith("\n") else "+" if value.endswith("\n\n") else ""
    head = f"|{'2' if _INDENTED.match(value) else ''}{chomping}"
    body = value.removesuffix("\n").split("\n")
    return "\n".join([head, *(" " * indent + line if line else "" for line in body)])


def _json(value: object) -> str:
    """A value as JSON, which YAML reads alike: on one line, with escapes for what YAML would not take."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
