"""Calls in a row, and calls in thoughts: what each notation says alone it says beside any other, and nothing in thoughts.

`rows` puts two or three calls of any notations behind each other, with nothing, blanks, text or an update between them.
`thoughts` puts a call into thoughts of any notation: opened and closed, closed only (the prompt opened them), or without an
end in an answer that was cut off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from engine.functions.markup.answer import response_parse

from .corpus import shown
from .notations import CHILDREN, NOTATIONS, OWN, THOUGHTS

MARK = "marked-4711"
_BETWEEN = ("\n", "\n\n", "\n \t\n", "\r\n", "\nThen the next.\n", '\n<update status="102">going on</update>\n')
_GLUE = ("", " ")
_LINES = (">>>", "\u273f", "Action", "**Action", "```", "commentary")
"""Calls that end with their line."""
_BEFORE = ("", "Hm.\n", "I could say ", "1. I look.\n2. I write.\n\n", "Say `this` or ")
_BEHIND = ("", "\n", " or not. ", " But no, that is wrong.\n\n")


@dataclass(frozen=True)
class Row:
    """An answer and the commands that it gives: all of them, in this order."""

    text: str
    commands: list[dict[str, str]]
    cut: bool = False
    reasoning: str = ""


def _parsed(text: str, cut: bool = False) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(response_parse(text, None, None, int(cut)) or "")
    return parsed


def _acts(parsed: dict[str, Any]) -> list[dict[str, str]]:
    return [shown(command) for command in parsed["commands"] if command["action"] != "think"]


@cache
def calls() -> list[tuple[str, list[dict[str, str]]]]:
    """Each readable call of each notation, with the commands that it gives alone."""
    texts = [notation.replace("§", MARK) for notation in NOTATIONS + OWN + CHILDREN]
    return [(text, commands) for text in texts if (commands := _acts(_parsed(text)))]


def rows(count: int, seed: int) -> Iterator[Row]:
    """Two or three calls in a row."""
    random = Random(seed)
    for _ in range(count):
        text, commands = "", list[dict[str, str]]()
        for number in range(random.choice((2, 2, 3))):
            call, given = random.choice(calls())
            between = (
                random.choice(_BETWEEN if text.endswith(("```", "Observation: ")) else _BETWEEN + _GLUE)
                if number
                else random.choice(("", "Now.\n", "\n"))
            )
            if "<update" in between:
                commands.append({"action": "update", "body": "going on", "status": "102"})
            text, commands = text + between + call, commands + given
        yield Row(text, commands)


def thoughts(count: int, seed: int) -> Iterator[Row]:
    """A call in thoughts, and one behind them."""
    random = Random(seed)
    for _ in range(count):
        (opening, closing), (draft, _) = random.choice(THOUGHTS), random.choice(calls())
        if opening.startswith("<|channel|>") and "<|channel|>" in draft:
            continue  # a message holds no message
        line = "\n" if draft.startswith(_LINES) or draft.endswith("```") else ""
        inside = random.choice(_BEFORE) + line + draft + line + random.choice(_BEHIND)
        call, given = random.choice(calls())
        kind = random.choice(("whole", "closed", "cut"))
        if kind == "cut":
            yield Row(opening + inside, [], cut=True, reasoning=MARK)
        elif kind == "closed":
            yield Row(f"{inside}{closing}\n{call}", given, reasoning=MARK)
        else:
            before = random.choice(("", '<get path="first.md"/>\n'))
            first = [{"action": "get", "path": "first.md"}] if before else []
            yield Row(f"{before}{opening}{inside}{closing}\n{call}", first + given, reasoning=MARK)


def wrong(row: Row) -> str | None:
    """What is wrong with the reading of `row`; None if nothing is."""
    parsed = _parsed(row.text, row.cut)
    got = _acts(parsed)
    if got != row.commands:
        return f"{got} and not {row.commands}; {parsed['warnings']}"
    if row.reasoning not in parsed["reasoning"]:
        return f"the thoughts are not told: {parsed['reasoning']!r}"
    return None
