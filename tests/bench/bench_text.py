"""What the text layer costs: reading answers, matching paths, searching bodies, applying edits."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import engine
from engine.functions.edits.bodies import edit_apply
from engine.functions.edits.patches import patch_apply, patch_parse
from engine.functions.markup.answer import response_parse
from engine.functions.patterns.kinds import pattern_match

from .table import Line

ENTRIES = 100_000
BYTES = 1_000
_ROUNDS = 5


def bench_text(rounds: int = _ROUNDS) -> list[Line]:
    """CPU milliseconds of the text functions on their own, the best of some rounds."""
    return [
        Line("parse 100 KB with 50 calls", _fastest(_parse(), rounds), "ms", target=20, note="CPU"),
        Line("match 10,000 paths, src/**/*.py", _fastest(_match("src/**/*.py"), rounds), "ms", target=50, note="CPU"),
        Line("match 10,000 paths, !(*.md)", _fastest(_match("**/!(*.md)"), rounds), "ms", target=100, note="CPU"),
        Line("100 edits of 5,000 lines", _fastest(_edit(), rounds), "ms", target=250, note="CPU"),
        Line("a patch of 100 hunks, 5,000 lines", _fastest(_patch(), rounds), "ms", target=250, note="CPU"),
    ]


def bench_search(entries: int = ENTRIES) -> list[Line]:
    """CPU milliseconds to find few among so many entries of 1 KB: by prefix, by words, and by looking at every body."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        _fill(db, entries)
        return [
            Line(
                f"get a folder of {entries:,} entries",
                _fastest(_get(db, "https://docs.example/77/**", "")),
                "ms",
                note="path index",
            ),
            Line(
                f"get {entries:,} entries that hold a text",
                _fastest(_get(db, "https://docs.example/**", "needle 77")),
                "ms",
                note="every body",
            ),
            Line(
                f"{entries:,} entries, words",
                _fastest(lambda: _words(db, entries * 7 // 9)),
                "ms",
                target=50,
                note="FTS5 content_search",
            ),
        ]


def _parse() -> Callable[[], object]:
    call = '<set path="src/file_{}.py">\n{}\n</set>\nThen the next one, with `code` and a < b.\n'
    body = "    value: dict[str, list[int]] = compute(a < b, c > d)  # <b>not a tag</b>\n" * 25
    text = "".join(call.format(number, body) for number in range(50))
    assert 95_000 < len(text) < 110_000
    return lambda: response_parse(text, None, None)


def _match(pattern: str) -> Callable[[], object]:
    paths = [f"src/engine/functions/file_{number}.{'py' if number % 2 else 'md'}" for number in range(10_000)]
    return lambda: [pattern_match(pattern, path) for path in paths]


_TEXT = "".join(f"    value_{number} = compute({number})\n" for number in range(5_000))


def _edit() -> Callable[[], object]:
    blocks = (
        f"<<SEARCH\n    value_{n} = compute({n})\nSEARCH\n<<REPLACE\n    value_{n} = {n}\nREPLACE\n"
        for n in range(0, 5_000, 50)
    )
    body = "".join(blocks)
    return lambda: edit_apply(_TEXT, body)


def _patch() -> Callable[[], object]:
    hunks = "".join(f"@@\n-value_{n} = compute({n})\n+value_{n} = {n}\n" for n in range(0, 5_000, 50))
    parsed = patch_parse(f"*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch")
    change = json.dumps(json.loads(parsed or "")["files"][0])
    return lambda: patch_apply(_TEXT, change)


_FILLER = "lorem ipsum dolor sit amet " * 40


def _fill(db: engine.Database, entries: int) -> None:
    """Put the entries in by the store's own door."""
    db.insert("verb_set", run="bench", path="run://bench", attributes='{"model":"none"}')
    with db.transaction():
        for number in range(entries):
            body = f"needle {number} of topic {number % 1000} {_FILLER}"[:BYTES]
            db.insert(
                "_write_entry",
                run_id=1,
                path=f"https://docs.example/{number % 1000}/{number}",
                body=body,
                visibility="archived",
            )


def _get(db: engine.Database, path: str, body: str) -> Callable[[], object]:
    return lambda: db.insert("verb_get", run="bench", path=path, body=body, attributes='{"manifest":""}')


def _words(db: engine.Database, number: int) -> object:
    found = db.rows(
        "select rowid from content_search where content_search match search_query(?) limit 20", (str(number),)
    )
    assert len(found) == 1
    return found


def _fastest(call: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """CPU milliseconds of the quickest of so many calls."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        times.append(1000 * (time.process_time() - began))
    return min(times)
