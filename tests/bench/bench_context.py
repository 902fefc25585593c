"""What a packet costs to assemble, against the bare join and concatenation of the same text."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import engine
from engine.packets.rendering import Renderer

from .table import Line

ENTRIES = (100, 1000, 5000)
BYTES = 1000
TARGET = 4.0
_RUMMY_MS = {100: 20, 1000: 220, 5000: 1300}

# A visible entry stands in two sections: in short in <summary>, whole in <visible>.
_BARE = (
    "select e.path, {text} from run_views as v join entries as e on e.id = v.entry_id "
    "join contents as c on c.id = v.content_id where v.visibility = 'visible' and e.scheme = 'known' "
    "order by v.turn, v.entry_id"
)


def bench_context(entries: tuple[int, ...] = ENTRIES) -> list[Line]:
    """Milliseconds of CPU for a packet of so many visible entries of 1 KB, and the ratio to the bare join."""
    return [line for count in entries for line in _measure(count)]


def _measure(count: int) -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        turn_id = _fill(db, count)
        renderer = Renderer(db)
        packet, chars = _fastest(lambda: sum(len(message.content) for message in renderer.render(turn_id)))
        bare, bare_chars = bare_ms(db), len(_bare_text(db))
    assert chars > bare_chars > count * BYTES
    note = f"{chars / 1e6:.2f} MB of text; bare join of {bare_chars / 1e6:.2f} MB: {bare:.1f} ms"
    return [
        Line(f"packet of {count} entries", packet, "ms", None, f"{note}; Rummy 0.5.0: {_RUMMY_MS.get(count, '-')} ms"),
        Line(f"packet of {count} : bare join", packet / bare, "×", TARGET if count == ENTRIES[-1] else None),
    ]


def _fill(db: engine.Database, count: int) -> int:
    """A run with `count` visible entries and a turn that waits for its packet; returns the turn's id."""
    attributes = '{"model":"none","context_limit":100000000}'
    db.insert("verb_set", run="bench", path="run://bench", body="Read all.", attributes=attributes)
    with db.transaction():
        for number in range(count):
            body = f"{number} ".ljust(BYTES, "x")
            db.insert("verb_set", run="bench", path=f"known://entry/{number}", body=body, visibility="visible")
    db.insert("_begin_turn", run="bench")
    turn_id = db.value("select id from turns")
    db.insert("_prepare_packet", turn_id=turn_id)
    return int(turn_id)


def bare_ms(db: engine.Database) -> float:
    """The least CPU milliseconds in which the same text can be joined and concatenated."""
    return _fastest(lambda: len(_bare_text(db)))[0]


def _bare_text(db: engine.Database) -> str:
    parts: list[str] = []
    for text in ("substr(c.body, 1, c.summary_chars)", "c.body"):
        parts += [f"{path}\n{body}\n" for path, body in db.connection.execute(_BARE.format(text=text))]
    return "".join(parts)


def _fastest(work: Callable[[], int]) -> tuple[float, int]:
    """The least CPU milliseconds of five calls, and what the last one returned."""
    spent = []
    for _ in range(5):
        began = time.process_time()
        result = work()
        spent.append(1000 * (time.process_time() - began))
    return min(spent), result
