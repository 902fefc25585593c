"""Answers of the corpus, damaged as models and networks damage them. The same seed gives the same answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from .corpus import cases

_PIECES = (
    *("<get", "</get>", '<get path="x"/>', "<set path=", "</set>", "<sh>", "</sh>", "<update", "</update>", "<think>"),
    *(
        "</think>",
        "<<EOF",
        "\nEOF\n",
        "<<SEARCH\n",
        "```xml\n",
        "```\n",
        "```",
        "`",
        "~~~\n",
        "<|x|>",
        "\\",
        "\u201c",
        "\x00",
    ),
    *(
        "&quot;",
        "&",
        "<tool_call>",
        "</tool_call>",
        "call:get{",
        '{"name":',
        "[TOOL_CALLS]",
        '"arguments":{',
        "<invoke ",
    ),
    *(
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<escape>",
        "é",
        "😀",
        "\r\n",
        "\n\n",
        "]]>",
        "<!--",
        "-->",
        "<p>",
        "</p>",
    ),
    *('"', "'", "=", "/", ">", "<", "{", "}", "[", "]", " ", "\t", "\ufeff", "*** Begin Patch\n", "--- a/x\n+++ b/x\n"),
)
_TAG = re.compile(r"<[^<>]*>")
_LONG = 20_000


def _answers() -> list[str]:
    return [case.answer for case in cases()]


def answer_of(seed: int, answers: list[str]) -> str:
    """The damaged answer number `seed`, made of some of `answers`."""
    random = Random(seed)
    text = random.choice(answers)
    if random.random() < 0.3:
        text += random.choice(("", "\n", "\n\n")) + random.choice(answers)
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        text = random.choice(_WAYS)(random, text)
    if random.random() < 0.01:
        text *= 1 + random.randrange(_LONG) // (len(text) + 1)
    return text


def answers() -> list[str]:
    """The undamaged answers, and a few of them escaped so that a strict parser gets through."""
    own = _answers()
    return own + [text for text in own if "<|" not in text and "`" not in text]


def _span(random: Random, text: str, longest: int = 40) -> tuple[int, int]:
    start = random.randrange(len(text) + 1)
    return start, min(len(text), start + random.randrange(1, longest))


def _delete(random: Random, text: str) -> str:
    start, end = _span(random, text, random.choice((2, 40)))
    return text[:start] + text[end:]


def _repeat(random: Random, text: str) -> str:
    start, end = _span(random, text, 120)
    return text[:end] + text[start:end] + text[end:]


def _insert(random: Random, text: str) -> str:
    start = random.randrange(len(text) + 1)
    return text[:start] + random.choice(_PIECES) + text[start:]


def _insert_between(random: Random, text: str) -> str:
    """A piece where one tag ends: outside values, so that much of the answer stays well-formed."""
    ends = [found.end() for found in _TAG.finditer(text)] or [0]
    start = random.choice(ends)
    return text[:start] + random.choice(_PIECES) + text[start:]


def _truncate(random: Random, text: str) -> str:
    return text[: random.randrange(len(text) + 1)]


def _drop_tag(random: Random, text: str) -> str:
    tags = list(_TAG.finditer(text))
    if not tags:
        return text
    tag = random.choice(tags)
    return text[: tag.start()] + text[tag.end() :]


def _drop_sign(random: Random, text: str) -> str:
    """Without one of the signs that markup is made of."""
    places = [index for index, letter in enumerate(text) if letter in "<>/\"'={}"]
    if not places:
        return text
    place = random.choice(places)
    return text[:place] + text[place + 1 :]


def _swap_lines(random: Random, text: str) -> str:
    lines = text.split("\n")
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _other_quotes(random: Random, text: str) -> str:
    old, new = random.sample(('"', "'", "\u201d", "`"), 2)
    return text.replace(old, new)


def _upper(random: Random, text: str) -> str:
    start, end = _span(random, text)
    return text[:start] + text[start:end].upper() + text[end:]


def _windows(_random: Random, text: str) -> str:
    return text.replace("\n", "\r\n")


def _fenced(random: Random, text: str) -> str:
    return f"```{random.choice(('', 'xml', 'tool_code', 'json'))}\n{text}\n```"


_WAYS: tuple[Callable[[Random, str], str], ...] = (
    *(_delete, _repeat, _insert, _insert_between, _insert_between, _truncate, _drop_tag, _drop_sign, _drop_sign),
    *(_swap_lines, _other_quotes, _upper, _windows, _fenced),
)
