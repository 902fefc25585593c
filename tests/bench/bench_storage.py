"""What remembering costs: bytes a turn where the context is large and stays as large, and the fork of a large run."""

from __future__ import annotations

import json
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import engine

from .metering import opened
from .scenario import LOG_TURNS, body
from .table import Line

TURNS = 500
ENTRIES = 500
ENTRY_BYTES = 1000
GROWTH_TARGET_B = 8192
FLAT_TARGET = 1.25
_WINDOW = 100

FORKED_ENTRIES = 5000
FORK_TARGET_MS = 25.0
FORK_TARGET_KB = 500.0
_ROUNDS = 7


def bench_storage(turns: int = TURNS, forked: int = FORKED_ENTRIES) -> list[Line]:
    """Bytes a turn beyond the new text, how they grow along the run, and milliseconds and kilobytes of forks."""
    sizes = _sizes(turns)
    window = min(_WINDOW, turns // 3)
    first, last, whole = (
        _beyond_text(sizes, turns, *span) for span in ((2, 2 + window), (turns - window, turns), (2, turns))
    )
    note = f"{ENTRIES * ENTRY_BYTES // 1000} KB visible, one of {ENTRIES} entries rewritten a turn"
    return [
        Line(f"growth a turn beyond new text, T = {turns}", whole, "B", GROWTH_TARGET_B, note),
        Line(
            f"growth, last {window} turns : first {window}",
            last / first,
            "×",
            FLAT_TARGET,
            f"{last:,.0f} B : {first:,.0f} B",
        ),
        *_forks(forked),
    ]


def _response(turn: int, turns: int) -> str:
    """What the model says in a turn: one entry anew, chosen at random, and the log of some turns ago put away."""
    away = f'<set path="log://turn_{turn - LOG_TURNS}/**" visibility="archived"/>' if turn > LOG_TURNS else ""
    path = f"known://entry/{random.Random(turn).randrange(ENTRIES)}"
    return (
        f'<set path="{path}">{body(turn)}</set>{away}<update status="{200 if turn == turns else 102}">{turn}</update>'
    )


def _sizes(turns: int) -> dict[int, int]:
    """The bytes of the file when the packet of each turn is sent."""
    sizes: dict[int, int] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(opened(folder)) as db:
        script = Path(folder) / "script.jsonl"
        script.write_text("".join(json.dumps({"text": _response(turn, turns)}) + "\n" for turn in range(1, turns + 1)))
        _start(db, f"scripted:{script}")
        with db.transaction():
            for number in range(ENTRIES):
                text = body(-1 - number).ljust(ENTRY_BYTES, "x")
                _write(db, f"known://entry/{number}", text, visibility="visible")

        def measure(event: dict[str, Any]) -> None:
            if event["type"] == "turn":
                sizes[event["turn"]] = _bytes(db)

        result = db.run("Keep the readings.", run="bench", max_turns=turns + 1, on_event=measure)
        assert (result.status, result.turns) == (200, turns), result
    return sizes


def _beyond_text(sizes: dict[int, int], turns: int, begin: int, end: int) -> float:
    text = sum(len(_response(turn, turns)) for turn in range(begin, end))
    return (sizes[end] - sizes[begin] - text) / (end - begin)


def _forks(entries: int) -> list[Line]:
    """Forks of a run of three turns, between which half of the entries were rewritten and a quarter put away.

    All of them have attributes, of which each fork must take a reference and no copy.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(opened(folder)) as db:
        script = Path(folder) / "script.jsonl"
        script.write_text('"<update status=\\"200\\">done</update>"\n' * 3)
        _start(db, f"scripted:{script}")
        paths = [f"{'known' if number % 10 else 'skill'}://area/{number % 40}/{number}" for number in range(entries)]
        for said, chosen in (("first", paths), ("second", paths[::2]), ("third", paths[1::4])):
            visibility = "archived" if said == "third" else "summarized"
            with db.transaction():
                for path in chosen:
                    attributes = json.dumps({"summary": f"{said} of {path}", "tags": "bench,fork"})
                    _write(db, path, f"{said} {path}".ljust(200, "."), attributes, visibility)
            db.run(f"Take note of the {said}.", run="bench")
        return [line for at in (None, 3, 2, 1) for line in _fork(db, entries, at)]


def _fork(db: engine.Database, entries: int, at: int | None) -> list[Line]:
    spent, grown = [], []
    for _ in range(_ROUNDS):
        before, began = _bytes(db), time.process_time()
        db.fork("bench", at=at)
        spent.append(1000 * (time.process_time() - began))
        grown.append((_bytes(db) - before) / 1000)
    what = f"fork of {entries} entries, " + (f"from turn {at}" if at else "from now")
    return [
        Line(what, min(spent), "ms", FORK_TARGET_MS, "CPU"),
        Line(f"{what}: bytes", max(grown), "KB", FORK_TARGET_KB),
    ]


def _start(db: engine.Database, model: str) -> None:
    attributes = json.dumps({"model": model, "context_limit": 100_000_000})
    db.insert("verb_set", run="bench", path="run://bench", attributes=attributes)


def _write(
    db: engine.Database, path: str, text: str, attributes: str | None = None, visibility: str | None = None
) -> None:
    db.insert("_write_entry", run_id=1, path=path, body=text, attributes=attributes, visibility=visibility)


def _bytes(db: engine.Database) -> int:
    return int(db.value("select page_count * page_size from pragma_page_count, pragma_page_size"))
