"""The three runs over the same notes of which the prefixes are measured: what they hold and what the model says."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOTES = 40
NOTE_CHARS = 1200
FACTS = 8
SHOWN = 6
_WORDS = ("amber", "basin", "cargo", "delta", "ember", "fjord", "glade", "harbor", "inlet", "jetty", "kelp", "meadow")

Act = Callable[[int, random.Random], str]


def fill(db: Any) -> None:
    """Write notes into the run `bench`, of which every second one is put away and some are shown, and facts."""
    with db.transaction():
        for number in range(NOTES):
            visibility = "archived" if number % 2 else "visible" if number < SHOWN else "summarized"
            db.insert(
                "verb_set", run="bench", path=f"skill://note/{number:02}", body=_body(number), visibility=visibility
            )
        for number in range(FACTS):
            body = _body(100 + number)[:400]
            db.insert("verb_set", run="bench", path=f"known://fact/{number}", body=body, visibility="visible")


def write_script(path: Path, act: Act, turns: int) -> str:
    """Write the script of a run of `turns` turns that does what `act` says; returns the name of its model."""
    source = random.Random(1)
    texts = [act(turn, source) + '<update status="102">on</update>' for turn in range(1, turns)]
    lines = (json.dumps({"text": text}) for text in (*texts, '<update status="200">done</update>'))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"scripted:{path}"


def common(before: str, after: str) -> int:
    """The length of the longest beginning that both have."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == after[:middle] else (low, middle - 1)
    return low


def _body(number: int) -> str:
    source = random.Random(number)
    text = " ".join(source.choice(_WORDS) for _ in range(NOTE_CHARS))[: NOTE_CHARS - 20]
    return f"note {number}\n" + re.sub(r"(.{60}\S*) ", r"\1\n", text)


def _append(turn: int, source: random.Random) -> str:
    return f'<get path="skill://note/{source.randrange(NOTES):02}" line="{1 + turn % 10}" limit="8"/>'


def _promote(turn: int, source: random.Random) -> str:
    order = random.Random(0).sample(range(NOTES), NOTES)
    away = f'<set path="skill://note/{order[turn - SHOWN]:02}" visibility="summarized"/>' if turn >= SHOWN else ""
    return f'<get path="skill://note/{order[turn]:02}"/>{away}'


def _edit(turn: int, source: random.Random) -> str:
    # most edits go to what was edited lately
    number = source.choice((0, 0, 0, 3, 3, 3, 5, 5, *range(FACTS)))
    return f'<set path="known://fact/{number}">{_body(200 + turn)[:400]}</set>'


ACTS: dict[str, Act] = {"append-only": _append, "promote-heavy": _promote, "edit-heavy": _edit}
