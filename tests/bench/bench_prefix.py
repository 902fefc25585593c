"""How much of a packet a provider has read before: the share that is a byte prefix of the packet of the turn before.

Three scripted runs over the same notes: in one only the log grows, one looks at other notes every turn, one writes facts
anew. Beside the share stands the most that the order of the sections allows: the sections that stay as they are, and of the
first one that changes the rows that it keeps. The naive order is the same packet with its budget first, behind which
nothing can be cached.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import mean

import engine
from engine.packets.parts import split

from .notes import ACTS, Act, common, fill, write_script
from .table import Line

TURNS = 30
TARGET = 80.0
CACHED_PRICE = 0.1
"""What a token costs that the provider has cached, as a share of the price of one that it has not."""
_SECTION = re.compile(
    r"^(?=<(?:prompt mode|summary>$|visible>$|log>$|unknowns>$|instructions>$|budget token))", re.MULTILINE
)


def bench_prefix(turns: int = TURNS) -> list[Line]:
    """The mean share of each packet in percent for the three runs, and what the input costs against the naive order."""
    return [line for name, act in ACTS.items() for line in _lines(name, packets(act, turns))]


def packets(act: Act, turns: int) -> list[str]:
    """The packets of a run of `turns` turns in which the model does what `act` says: system and user text in one."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        model = write_script(Path(folder) / "script.jsonl", act, turns)
        attributes = json.dumps({"model": model, "context_limit": 1_000_000})
        db.insert("verb_set", run="bench", path="run://bench", attributes=attributes)
        fill(db)
        result = db.run("Compare the notes.", run="bench", max_turns=turns + 1)
        assert (result.status, result.turns) == (200, turns), result
        rows = db.rows(
            "select group_concat(body, '') as body from (select turn, body from packet_texts order by turn, ordinal) "
            "group by turn order by turn"
        )
    return [row["body"] for row in rows]


def _lines(name: str, sent: list[str]) -> list[Line]:
    pairs = list(pairwise(sent))
    kept = [common(before, after) for before, after in pairs]
    best = [max(_best(before, after), size) for (before, after), size in zip(pairs, kept, strict=True)]
    naive = [common(_budget_first(before), _budget_first(after)) for before, after in pairs]
    sizes = [len(after) for _, after in pairs]
    share, most, bad = (100 * mean(map(_over, sizes_of, sizes)) for sizes_of in (kept, best, naive))
    cost, of_naive = _cost(sent, kept), _cost(sent, naive)
    note = f"the section order allows {most:.1f} %; budget first: {bad:.1f} %"
    target = TARGET if name == "append-only" else None
    return [
        Line(f"prefix kept, {name}", share, "%", target, note, at_least=True),
        Line(
            f"input cost : naive order, {name}",
            cost / of_naive,
            "×",
            None,
            f"cached input at {CACHED_PRICE:.0%} of the price; uncached it would be {len(''.join(sent)) / of_naive:.2f} ×",
        ),
    ]


def _over(part: int, whole: int) -> float:
    return part / whole


def _best(before: str, after: str) -> int:
    """The characters of `after` that could stand unchanged before the first row that is new, sections in their order."""
    size = 0
    for old, new in zip(_SECTION.split(before), _SECTION.split(after), strict=False):
        if old != new:
            rows = Counter(_pieces(old)) & Counter(_pieces(new)[:-1])
            return size + sum(len(row) * count for row, count in rows.items())
        size += len(new)
    return size


def _pieces(section: str) -> list[str]:
    opening, entries, closing = split(section)
    return [piece for piece in (opening, *(entry + "\n" for entry in entries), closing) if piece]


def _budget_first(packet: str) -> str:
    system, *sections = _SECTION.split(packet)
    return system + "".join(sorted(sections, key=lambda section: not section.startswith("<budget")))


def _cost(sent: list[str], kept: list[int]) -> float:
    """Of all packets, in the price of a character that is not cached."""
    return len("".join(sent)) - (1 - CACHED_PRICE) * sum(kept)
