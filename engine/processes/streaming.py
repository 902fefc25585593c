"""Follows what a shell command prints, and asks for its end, from any process that has the file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import Conflict, NotFound
from engine.processes.stale import heal, is_left

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.processes.outputs import Output

_POLL_S = 0.1

_CHANNELS = """
    select distinct o.effect_id, o.channel, o.path, o.run_id, o.entry_id
    from _process_paths as p
    join runs as r on r.id = p.run_id and r.alias = ?
    join _process_outputs as o on o.effect_id = p.effect_id and o.channel = coalesce(p.channel, o.channel)
    where p.path = ?
    order by o.channel
"""
_PIECES = "select id, text, position from entry_chunks where run_id = ? and entry_id = ? and id > ? order by id"


class Ended(NamedTuple):
    """How a process ended: `state` is done, cancelled or interrupted; `exit_code` is None where it has none."""

    state: str
    outcome: str | None
    exit_code: int | None


def stream(db: Store, run: str, path: str, *, follow: bool) -> Iterator[Output]:
    """The output of the command at `path` as it is and, with `follow`, as it comes, until the command has ended."""
    if db.in_transaction:
        raise Conflict(f"{db.path}: output cannot be followed inside a transaction; commit first")
    channels = [_Follower(db, *row) for row in db.tuples(_CHANNELS, (run, path))]
    if not channels:
        raise _missing(db, run, path)
    return _polled(channels, follow=follow)


def cancel(db: Store, run: str, path: str, *, reason: str | None = None, by: str = "client") -> None:
    """Ask for the end of the command at `path`. One whose driver is dead is ended here, and records who asked."""
    db.insert("verb_cancel_process", run=run, path=path, asked_by=by, reason=reason)
    if not db.in_transaction:
        heal(db)


def end_of(db: Store, run: str, path: str) -> Ended | None:
    """How the command at `path` ended; None while it runs."""
    row = db.row(
        "select c.state, c.outcome, c.exit_code from _process_paths as p join runs as r on r.id = p.run_id "
        "join processes as c on c.effect_id = p.effect_id where r.alias = ? and p.path = ?",
        (run, path),
    )
    return None if row is None or row["state"] == "started" else Ended(**row)


def _polled(channels: list[_Follower], *, follow: bool) -> Iterator[Output]:
    while True:
        ended = [channel.ended() for channel in channels]  # first: what came before the end is read below
        for channel in channels:
            yield from channel.news()
        if all(ended) or not follow:
            return
        time.sleep(_POLL_S)


class _Follower:
    """Reads what is new of one output. `_end` counts the characters of it up to what was read last."""

    def __init__(self, db: Store, effect_id: int, channel: int, path: str, run_id: int, entry_id: int) -> None:
        self._db = db
        self._effect_id = effect_id
        self._channel = channel
        self._path = path
        self._entry = (run_id, entry_id)
        self._last = 0
        self._end = 0

    def ended(self) -> bool:
        running = self._db.row("select * from _unfinished_processes where effect_id = ?", (self._effect_id,))
        return running is None or is_left(self._db, running)

    def news(self) -> Iterator[Output]:
        pieces = self._db.tuples(_PIECES, (*self._entry, self._last))
        # in this order: with the end of the process its pieces become one text
        whole = self._whole() if not pieces and self.ended() else None
        for number, text, position in pieces:
            self._last = number
            start = self._end if position is None else position
            left_out, self._end = start > self._end, start + len(text)
            yield self._output(text, left_out=left_out)
        if whole is not None:
            yield from self._rest(*whole)

    def _whole(self) -> tuple[str, int] | None:
        """The text of an output that has ended, and how many characters of it there were."""
        found = self._db.tuples(
            "select body, printed from _process_outputs where effect_id = ? and channel = ?",
            (self._effect_id, self._channel),
        )
        return (found[0][0] or "", found[0][1] or 0) if found else None

    def _rest(self, body: str, printed: int) -> Iterator[Output]:
        """What was not read before the end; where something was dropped, the latest of it."""
        missing = printed - self._end
        self._end = printed
        if missing > 0:
            rest = body[-missing:]
            yield self._output(rest, left_out=len(rest) < missing)

    def _output(self, text: str, *, left_out: bool) -> Output:
        return {"path": self._path, "channel": self._channel, "text": text, "left_out": left_out}


def _missing(db: Store, run: str, path: str) -> NotFound:
    if db.value("select 1 from runs where alias = ?", (run,)) is None:
        return NotFound(f"run {run!r}: there is no such run; 'engine runs' lists them")
    return NotFound(
        f"run {run!r}: {path!r} is neither a command of this run nor its output; 'engine log {run}' lists them"
    )
