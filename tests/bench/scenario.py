"""The run that the turn benchmarks drive: many turns, a context that stays at about 20 KB.

Every turn the model writes one of `FACTS` entries anew, archives the log of the turn `LOG_TURNS` before and goes on. Its
response is about 1 KB long.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

FACTS = 8
LOG_TURNS = 10
BODY_CHARS = 720
_WORDS = ("amber", "basin", "cargo", "delta", "ember", "fjord", "glade", "harbor", "inlet", "jetty", "kelp", "meadow")


def body(turn: int) -> str:
    """The text that turn `turn` (from 1) writes: words, different for each turn."""
    source = random.Random(turn)
    words = [f"turn {turn}:"]
    while sum(map(len, words)) + len(words) < BODY_CHARS:
        words.append(source.choice(_WORDS))
    return " ".join(words)


def response(turn: int, turns: int) -> str:
    """What the model says in turn `turn` of `turns`, both counted from 1."""
    archive = ""
    if turn > LOG_TURNS:
        archive = f'<set path="log://turn_{turn - LOG_TURNS}/**" visibility="archived"/>\n'
    last = turn == turns
    return (
        f"I have compared the last reading with the one before it and keep what differs in turn {turn}.\n"
        f'<set path="known://reading/{turn % FACTS}" tags="bench,reading">{body(turn)}</set>\n'
        f"{archive}"
        f'<update status="{200 if last else 102}">{"done" if last else f"reading {turn} of {turns} is kept"}</update>'
    )


def write_script(path: Path, turns: int) -> str:
    """Write the script of a run of `turns` turns to `path`; returns the name of the model that follows it."""
    lines = (json.dumps({"text": response(turn, turns)}) for turn in range(1, turns + 1))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"scripted:{path}"


def raw_bytes(turns: int) -> int:
    """Bytes of the raw text of a run, each text once: its responses, in which what it writes stands."""
    return sum(len(response(turn, turns)) for turn in range(1, turns + 1))
