"""What it costs to assemble a packet of which a part has changed since the last turn, and what the ladder costs on top."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import engine
from engine.packets.rendering import Renderer

from .bench_context import BYTES, bare_ms
from .metering import opened
from .table import Line

ENTRIES = (100, 1000, 5000)
CHANGED = (0.01, 0.1, 1.0)
LADDER_TARGET = 3.0
_ROUNDS = 5
_ROOM = 100_000_000
_TOO_LITTLE = 500
"""Tokens for each entry that all of them exceed while they are visible, and that they are within in short."""


def bench_assembly(entries: tuple[int, ...] = ENTRIES, rounds: int = _ROUNDS) -> list[Line]:
    """CPU milliseconds to render, offer and store a packet of so many visible entries of 1 KB, by the share of them that is
    new since the packet before, in times of the bare join; and the ladder for the most of them in times of one assembly.
    """
    lines = [line for count in entries for line in _assemblies(count, rounds)]
    return [*lines, _ladder(entries[-1], rounds)]


def _assemblies(count: int, rounds: int) -> Iterator[Line]:
    with _run(count, _ROOM) as db:
        renderer = Renderer(db)
        _offer(db, renderer)
        for share in CHANGED:
            spent = []
            for step in range(rounds):
                _answer(db)
                _write(db, range(max(1, round(share * count))), f"{share} {step}")
                spent.append(_cpu_ms(lambda: _offer(db, renderer)))
            bare = bare_ms(db)
            yield Line(
                f"assemble {count} entries, {share:.0%} changed",
                min(spent) / bare,
                "×",
                None,
                f"{min(spent):.1f} ms with what is stored; bare join {bare:.1f} ms",
            )


def _ladder(count: int, rounds: int) -> Line:
    """Render, find it too long, demote all, tell it, render again, store; against a packet that fits at once."""
    once, steps = (min(_first_packet(count, limit) for _ in range(rounds)) for limit in (_ROOM, count * _TOO_LITTLE))
    note = f"{steps:.0f} ms : {once:.0f} ms"
    return Line(f"ladder of {count} entries : one assembly", steps / once, "×", LADDER_TARGET, note)


def _first_packet(count: int, limit: int) -> float:
    with _run(count, limit) as db:
        spent = _cpu_ms(lambda: _offer(db, Renderer(db)))
        demoted = db.value("select count(*) from demotions")
        assert (demoted >= count // 2) == (limit < _ROOM), demoted
        assert db.value("select phase from turns") == "asking"
        return spent


def _offer(db: engine.Database, renderer: Renderer) -> None:
    """Render the packet of the open turn and offer it until it fits, in one transaction as the loop does."""
    with db.transaction():
        while db.value("select phase = 'assembling' from turns where id = ?", (_turn(db),)):
            renderer.offer(_turn(db), None)


@contextmanager
def _run(count: int, limit: int) -> Iterator[engine.Database]:
    """A database with a run of `count` visible entries whose first turn waits for its packet."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        closing(opened(folder)) as db,
    ):
        attributes = f'{{"model":"none","context_limit":{limit}}}'
        db.insert("verb_set", run="bench", path="run://bench", body="Read all.", attributes=attributes)
        _write(db, range(count), "first")
        db.insert("_begin_turn", run="bench")
        yield db


def _write(db: engine.Database, numbers: range, text: str) -> None:
    with db.transaction():
        for number in numbers:
            body = f"{text} {number} ".ljust(BYTES, "x")
            db.insert("verb_set", run="bench", path=f"known://entry/{number}", body=body, visibility="visible")


def _turn(db: engine.Database) -> int:
    return int(db.value("select max(id) from turns"))


def _answer(db: engine.Database) -> None:
    """Say something in the open turn, so that the next one begins; the log stays as it is but for two lines."""
    response = f'<update status="102">{_turn(db)} is read</update>'
    db.execute("update turns set response = ? where id = ?", (response, _turn(db)))
    db.insert("_dispatch", run="bench")
    db.insert("_begin_turn", run="bench")


def _cpu_ms(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)
