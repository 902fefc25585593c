"""How well and how fast things are found: by words, by meaning, and by both.

The items are the documentation of functions of Python's standard library, of the settings and of the tools; the queries
stand in discovery/queries.txt. A half of them, drawn by chance, is what the weights are chosen on; the other half is
reported.
"""

from __future__ import annotations

import importlib
import inspect
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import engine
from engine.discovery import embedders
from engine.discovery import finding as discovery

from .table import Line

QUERIES = Path(__file__).parent / "discovery" / "queries.txt"
MODULES = (
    "base64 bisect calendar collections contextlib csv difflib functools glob hashlib heapq html inspect itertools json "
    "logging math os os.path pathlib pickle random re secrets shlex shutil signal socket statistics string struct "
    "subprocess tempfile textwrap threading time unicodedata urllib.parse uuid zipfile zlib"
)
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Weights of words that are tried; that of meaning is the rest up to 1."""
PLACES = (1, 3, 10)
Places = list[int | None]
"""The place (from 1) at which each query finds its item; None: not among the first ten."""


def bench_discovery(
    modules: str = MODULES, texts: tuple[tuple[int, float], ...] = ((10_000, 15), (100_000, 100))
) -> list[Line]:
    """Recall at 1, 3 and 10 of each ranker and of their fusion over `modules`, and milliseconds of CPU of a search among so
    many `texts`, each with its target.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lines = _recall(Path(folder), modules)
        return lines + [line for count, most in texts for line in _speed(Path(folder), count, most)]


def items(modules: str = MODULES) -> dict[str, str]:
    """The documentation of each item, by its name."""
    found = {}
    for module in modules.split():
        loaded = importlib.import_module(module)
        for name in getattr(loaded, "__all__", None) or dir(loaded):
            value = getattr(loaded, name, None)
            if name.startswith("_") or not callable(value) or _is_error(value):
                continue
            text = inspect.getdoc(value) or ""
            if len(text) >= 40:
                found[f"{module}.{name}"] = text
    return found


def queries() -> list[tuple[str, str]]:
    """Each query with the name of its item."""
    lines = (line.partition(" | ") for line in QUERIES.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [(query, item.strip()) for query, _, item in lines]


def halves() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The queries that weights are chosen on, and those that are reported."""
    shuffled = queries()
    random.Random(1).shuffle(shuffled)
    middle = len(shuffled) // 2
    return shuffled[:middle], shuffled[middle:]


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def _recall(folder: Path, modules: str) -> list[Line]:
    root = folder / "documents"
    root.mkdir()
    with closing(engine.open(folder / "recall.db")) as db:
        settings = {row["name"]: row["meaning"] for row in db.rows("select name, meaning from settings")}
        texts = items(modules) | {f"setting.{name}": meaning for name, meaning in settings.items()}
        for name, text in texts.items():
            (root / name).write_text(text, encoding="utf-8")
        known = {*texts, *(f"tool.{row['name']}" for row in db.rows("select name from tools"))}
        script = folder / "script.jsonl"
        script.write_text('{"text": "<update status=\\"200\\">read</update>"}\n', encoding="utf-8")
        db.run("read", model=f"scripted:{script}", root=root)
        chosen, reported = ([(query, item) for query, item in half if item in known] for half in halves())
        stated = {row["name"]: row["weight"] for row in db.rows("select name, weight from search_rankers")}
        note = f"{len(reported)} queries over {len(known)} items"
        ways = {"words": (1.0, 0.0)}
        if embedders.embedder() is not None:
            ways |= {"meaning": (0.0, 1.0), "both": (stated["words"], stated["meaning"])}
        lines = [
            Line(f"{way}: recall@{place}", share, "", note=note)
            for way, weights in ways.items()
            for place, share in _shares(db, reported, *weights)
        ]
        scores = {share: _score(_places(db, chosen, share, 1 - share)) for share in SHARES}
        told = ", ".join(f"{share:g}: {score:.3f}" for share, score in scores.items())
        best = max(scores, key=lambda share: scores[share])
        lines.append(Line("best weight of words, on the other half", best, "", note=f"mean reciprocal place, {told}"))
        return lines


def _shares(
    db: engine.Database, asked: list[tuple[str, str]], words: float, meaning: float
) -> Iterator[tuple[int, float]]:
    places = _places(db, asked, words, meaning)
    for most in PLACES:
        yield most, sum(place is not None and place <= most for place in places) / len(places)


def _score(places: Places) -> float:
    return sum(1 / place for place in places if place) / len(places)


def _places(db: engine.Database, asked: list[tuple[str, str]], words: float, meaning: float) -> Places:
    for name, weight in (("words", words), ("meaning", meaning)):
        db.execute("update search_rankers set weight = ? where name = ?", (weight, name))
    found: Places = []
    for query, item in asked:
        rows = discovery.discover(db, query, kinds=("tool", "entry"), limit=10)
        names = [f"tool.{row['name']}" if row["kind"] == "tool" else row["name"] for row in rows]
        found.append(names.index(item) + 1 if item in names else None)
    return found


def _speed(folder: Path, count: int, most: float) -> list[Line]:
    """A search among `count` files with 30 words each."""
    with closing(engine.open(folder / f"{count}.db")) as db:
        chance = random.Random(1)
        words = [_word(chance) for _ in range(20_000)]
        # as in a language, few words are frequent and many are rare
        weights = [1 / place for place in range(1, len(words) + 1)]
        with db.transaction():
            db.execute("insert into projects (name, root, created_at) values ('bench', '/bench', 0)")
            for number in range(count):
                text = " ".join(chance.choices(words, weights, k=30))
                db.execute(
                    "insert into contents (chars, summary_chars, lines, body) values (length(:text), 0, 1, :text)",
                    {"text": text},
                )
                db.execute(
                    "insert into entries (scope, path, kind, content_id, since) "
                    "values ('project:1', ?, 'file', last_insert_rowid(), 1)",
                    (f"src/{number}.txt",),
                )
        began = time.perf_counter()
        discovery.refresh(db)
        built = time.perf_counter() - began
        asked = iter([" ".join(chance.choices(words[50:], weights[50:], k=4)) for _ in range(11)])
        taken = _median(lambda: discovery.discover(db, next(asked)))
        how = "words and meaning" if embedders.embedder() else "words alone"
        return [
            Line(f"search among {count:,} texts", taken, "ms", target=most, note=f"CPU, median of ten, {how}"),
            Line(f"index of {count:,} texts", built, "s", note="once, then what has changed"),
        ]


def _word(chance: random.Random) -> str:
    return "".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(4, 10)))


def _median(work: Callable[[], object]) -> float:
    """CPU milliseconds, the median of ten after one that makes ready."""
    work()
    taken = []
    for _ in range(10):
        began = time.thread_time()
        work()
        taken.append(time.thread_time() - began)
    return sorted(taken)[5] * 1_000
