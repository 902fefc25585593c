"""Calls as Python writes them, `get(path='b', line=3)`: names, keyword arguments and literals, nothing else."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import skip_space

_CALL = lazy_regex(r"\s*(?:\w{1,40}\s*=\s*)?(?P<print>print\s*\(\s*)?(?P<name>[A-Za-z_][\w.:/-]{0,120})\s*\(")
_KEYWORD = lazy_regex(r"\s*([A-Za-z_]\w{0,80})\s*=(?!=)\s*")
_QUOTE = lazy_regex(r"(?P<prefix>[bru]{0,2})(?P<quote>\"\"\"|'''|\"|')", re.IGNORECASE)
_ENDS = {
    '"': lazy_regex(r"[^\"\\]*(?:\\.[^\"\\]*)*\"", re.DOTALL),
    "'": lazy_regex(r"[^'\\]*(?:\\.[^'\\]*)*'", re.DOTALL),
    '"""': lazy_regex(r"[^\"\\]*(?:(?:\\.|\"(?!\"\"))[^\"\\]*)*\"\"\"", re.DOTALL),
    "'''": lazy_regex(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''", re.DOTALL),
}
# What follows a text: a quote before anything else belongs to the text, and where that ends is not known.
_AFTER_TEXT = lazy_regex(r"\s*(?:[,)\]}:]|[bru]{0,2}[\"']|\Z)", re.IGNORECASE)
_ESCAPE = lazy_regex(r"\\(\n|[\\'\"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3})")
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": ""}
_WORD = lazy_regex(r"[A-Za-z_]\w*|[-+]?(?:\d[\d_]{0,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,5})?")
_WORDS = {"None": None, "null": None, "True": True, "true": True, "False": False, "false": False}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_DEEPEST = 20
_FAILED = (None, -1)


class PythonCall(NamedTuple):
    """A call `text[start:end]`: its name as written, and its arguments by name, or the only one without a name."""

    name: str
    arguments: object
    start: int
    end: int


def call_at(text: str, position: int) -> PythonCall | None:
    """The call at `position`, perhaps in `print(…)` or behind `x =`; None if it is none, or has no end."""
    found = _CALL.match(text, position)
    if found is None:
        return None
    arguments, end = _arguments(text, found.end())
    if end >= 0 and found["print"]:
        end = skip_space(text, end)
        end = end + 1 if text.startswith(")", end) else -1
    return PythonCall(found["name"].removesuffix(".call"), arguments, position, end) if end >= 0 else None


def _arguments(text: str, position: int) -> tuple[object, int]:
    """The arguments behind an opening bracket, and where the closing one ends, or -1."""
    given, alone = dict[str, object](), list[object]()
    while True:
        position = skip_space(text, position)
        if text.startswith(")", position):
            if alone and (given or len(alone) > 1):
                return _FAILED  # which argument is meant is not known
            return (alone[0] if alone else given), position + 1
        key = _KEYWORD.match(text, position)
        value, position = _value(text, key.end() if key else position, 0)
        if position < 0 or (key and key[1] in given):
            return _FAILED
        if key:
            given[key[1]] = value
        else:
            alone.append(value)
        position = _separator(text, position, ")")
        if position < 0:
            return _FAILED


def _separator(text: str, position: int, closing: str) -> int:
    """Where the next item begins: behind a comma, or at `closing`; -1 for anything else."""
    position = skip_space(text, position)
    if text.startswith(",", position):
        return position + 1
    return position if text.startswith(closing, position) else -1


def _value(text: str, position: int, depth: int) -> tuple[object, int]:
    """The literal at `position` and where it ends, or -1."""
    opening = text[position : position + 1]
    if opening in _CLOSING and depth < _DEEPEST:
        return _dictionary(text, position + 1, depth) if opening == "{" else _list(text, position, depth)
    quote = _QUOTE.match(text, position)
    if quote:
        return _text(text, quote)
    word = _WORD.match(text, position)
    if word is None:
        return _FAILED
    if word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    number = word[0].replace("_", "")
    if word[0][0].isalpha() or word[0][0] == "_":
        return _FAILED  # a variable
    return (int(number) if number.lstrip("+-").isdigit() else float(number)), word.end()


def _text(text: str, quote: re.Match[str] | None) -> tuple[object, int]:
    """One or several texts in a row."""
    parts, position = list[str](), -1
    while quote:
        closing = _ENDS[quote["quote"]].match(text, quote.end())
        if closing is None or not _AFTER_TEXT.match(text, closing.end()):
            return _FAILED
        raw = text[quote.end() : closing.end() - len(quote["quote"])]
        parts.append(raw if "r" in quote["prefix"].lower() else _ESCAPE.sub(_unescaped, raw) if "\\" in raw else raw)
        position = closing.end()
        quote = _QUOTE.match(text, skip_space(text, position))
    return "".join(parts), position


def _unescaped(found: re.Match[str]) -> str:
    sign = found[1]
    if sign[0] in "xuU" or sign[0].isdigit():
        code = int(sign, 8) if sign[0].isdigit() else int(sign[1:], 16)
        return chr(code) if code < 0x110000 else "\ufffd"
    return _LETTERS.get(sign, sign)


def _list(text: str, position: int, depth: int) -> tuple[object, int]:
    closing, items = _CLOSING[text[position]], list[object]()
    position += 1
    while True:
        position = skip_space(text, position)
        if text.startswith(closing, position):
            return items, position + 1
        item, position = _value(text, position, depth + 1)
        position = _separator(text, position, closing) if position >= 0 else -1
        if position < 0:
            return _FAILED
        items.append(item)


def _dictionary(text: str, position: int, depth: int) -> tuple[object, int]:
    items = dict[str, object]()
    while True:
        position = skip_space(text, position)
        if text.startswith("}", position):
            return items, position + 1
        key, position = _value(text, position, depth + 1)
        position = skip_space(text, position) if position >= 0 else -1
        if position < 0 or not text.startswith(":", position):
            return _FAILED
        value, position = _value(text, skip_space(text, position + 1), depth + 1)
        position = _separator(text, position, "}") if position >= 0 else -1
        if position < 0:
            return _FAILED
        items[str(key)] = value
