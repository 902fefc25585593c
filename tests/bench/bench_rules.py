"""What rules cost: finding words in a prompt, and selecting what many domains say."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import engine
from engine.functions.rules.keywords import keywords_find
from engine.rules import imports
from engine.rules.folders import Domain, Found

from .table import Line

DOMAINS, WORDS, CHARACTERS = 200, 20, 10_240


def bench_rules(domains: int = DOMAINS) -> list[Line]:
    """CPU milliseconds of 200 domains with 20 words each, against a prompt of 10 KB."""
    vocabulary = _vocabulary()
    words, prompt = vocabulary[: domains * WORDS], _prompt(vocabulary)
    lines = "\n".join(words)
    return [
        Line(
            f"{len(words):,} words in 10 KB",
            _fastest(lambda: keywords_find(prompt, lines, 0)),
            "ms",
            target=2,
            note="CPU, one pass",
        ),
        Line(
            "select the rules of a loop, none called up",
            _selection(words, "go"),
            "ms",
            note=f"{domains} domains, once a loop",
        ),
        Line(
            "select the rules of a loop, all called up",
            _selection(words, prompt),
            "ms",
            note=f"{domains} domains, once a loop",
        ),
    ]


def _vocabulary() -> list[str]:
    chance = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgk"
    return ["".join(chance.choices(letters, k=chance.randint(4, 10))) for _ in range(6_000)]


def _prompt(vocabulary: list[str]) -> str:
    return " ".join(random.Random(2).choices(vocabulary, k=3_000))[:CHARACTERS]


def _selection(words: list[str], prompt: str) -> float:
    domains = [
        Domain(f"d{n}", recall=words[n * WORDS : (n + 1) * WORDS], rules=[f"rule {n} {m}" for m in range(5)])
        for n in range(len(words) // WORDS)
    ]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        imports.add(db, folder, Found("bench", domains=domains))
        owner = db.value("select id from projects where root = ?", (folder,))
        rows = "insert into _select_rules (project_id, prompt, prompts, context_left, room) values (?, ?, 1, 100, 8000)"
        with db.transaction():
            return _fastest(lambda: db.execute(rows, (owner, prompt)))


def _fastest(work: Callable[[], object]) -> float:
    """CPU milliseconds of the fastest of ten, after one that makes ready."""
    work()
    taken = []
    for _ in range(10):
        began = time.thread_time()
        work()
        taken.append(time.thread_time() - began)
    return min(taken) * 1_000
