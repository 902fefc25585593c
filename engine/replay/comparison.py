"""Compares a replayed run with its record: turn by turn packets, commands and edits, at the end entries and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.functions.edits.comparison import edit_diff

from .answers import packet_difference, without_times
from .results import Difference

if TYPE_CHECKING:
    from engine.db.database import Row

    from .recording import Recording

_RUNS = """
    select r.alias as run, r.id as run_id
    from tree_runs as t
    join runs as r on r.id = t.run_id
    where t.top = ?
    order by t.level, r.id
"""
_COMMANDS = """
    select
        c.ordinal, c.action, c.path, c.destination, coalesce(b.body, c.body) as body, c.state, c.outcome, c.message,
        c.id
    from turns as t
    join commands as c on c.turn_id = t.id
    left join _command_bodies as b on b.command_id = c.id
    where t.run_id = ? and t.sequence = ?
    order by c.ordinal, c.id
"""
_EDITS = """
    select p.target as path, p.kind, p.state, b.body
    from turns as t
    join commands as c on c.turn_id = t.id
    join proposals as p on p.command_id = c.id and p.kind in ('file_write', 'file_delete')
    left join contents as b on b.id = p.content_id
    where t.run_id = ? and t.sequence = ?
    order by c.ordinal, p.ordinal
"""
_ENTRIES = """
    select e.path, v.visibility, v.state, v.outcome, b.body
    from run_views as v
    join entries as e on e.id = v.entry_id
    left join contents as b on b.id = v.content_id
    where v.run_id = ? and e.kind <> 'file'
    order by e.id
"""
_FIELDS = ("path", "destination", "state", "outcome", "message", "body")


class Comparison:
    """Compares the runs of a replay from `top` down with those of `recording`, from the turn `first` of its run on."""

    def __init__(self, recording: Recording, first: int, top: str) -> None:
        self._recording = recording
        self._top = top
        self._db = recording.db
        self._first = first
        self.turns = 0
        """How many turns were the same."""

    def first_difference(self, *, whole: bool) -> Difference | None:
        """The first difference. What is not `whole` was stopped on purpose: what is missing at its end is none."""
        rows = self._db.rows(_RUNS, (self._top,))
        if not rows and whole:
            return Difference("turn", self._top, 1, f"the replay has no run {self._top}", "")
        for row in rows:
            if difference := self._of_run(row["run"], row["run_id"], whole=whole):
                return difference
        return None

    def _of_run(self, run: str, run_id: int, *, whole: bool) -> Difference | None:
        recorded = self._recording.id_of(run)
        top = run == self._recording.run
        first = self._first if top else 1
        if recorded is None:
            return Difference("turn", run, 1, f"the record has no run {run}", "")
        theirs = [turn for turn in self._recording.turns(run) if turn >= first]
        mine = [turn for (turn,) in self._db.tuples(_SEQUENCES, (run_id,)) if turn >= first]
        for turn in theirs:
            if turn not in mine:
                return Difference("turn", run, turn, "the replay ended before this turn", "") if whole else None
            if difference := self._of_turn(run, run_id, recorded, turn):
                return difference
            self.turns += 1
        whole = whole and not self._db.value(_OPEN, (recorded,))
        if whole and (more := [turn for turn in mine if turn not in theirs]):
            return Difference("turn", run, more[0], "the record ends before this turn", "")
        return self._of_entries(run, run_id, recorded, theirs[-1] if theirs else first) if whole else None

    def _of_turn(self, run: str, run_id: int, recorded: int, turn: int) -> Difference | None:
        sent = self._db.tuples(_PACKET, (run, turn))
        if difference := packet_difference(run, turn, self._recording.packet(run, turn), sent):
            return difference
        record = self._recording.turn(run, turn)
        if record is None or not record.judged:
            return None
        before, after = (self._db.rows(_COMMANDS, (each, turn)) for each in (recorded, run_id))
        for old, new in _pairs(before, after):
            if _told(old) != _told(new):
                what = " ".join(filter(None, [(new or old)["action"], (new or old)["path"]]))
                return Difference("command", run, turn, what, edit_diff(what, _told(old), _told(new)) or "")
        before, after = (self._db.rows(_EDITS, (each, turn)) for each in (recorded, run_id))
        for old, new in _pairs(before, after):
            if old != new:
                path = (new or old)["path"]
                diff = edit_diff(path, old and old["body"], new and new["body"])
                return Difference("file", run, turn, path, diff or f"{old and old['state']} → {new and new['state']}")
        return None

    def _of_entries(self, run: str, run_id: int, recorded: int, turn: int) -> Difference | None:
        before, after = (_named(self._db.rows(_ENTRIES, (each,))) for each in (recorded, run_id))
        for path in sorted(before.keys() | after.keys()):
            old, new = _entry(before.get(path)), _entry(after.get(path))
            if old != new:
                return Difference("entry", run, turn, path, edit_diff(path, old, new) or "")
        return None


_SEQUENCES = "select sequence from turns where run_id = ? order by sequence"
_OPEN = "select 1 from loops where run_id = ? and status in (100, 102)"
_PACKET = "select role, body from packet_texts where run = ? and turn = ? order by ordinal"


def _named(rows: list[Row]) -> dict[str, Row]:
    """The entries by their paths; of those that bear the number of an undo the first, the second and so on."""
    named: dict[str, Row] = {}
    for row in rows:
        path = without_times(row["path"])
        same = sum(each.startswith(path) for each in named) if path != row["path"] else 0
        named[f"{path} ({same + 1})" if same else path] = row
    return named


def _pairs(before: list[Row], after: list[Row]) -> list[tuple[Any, Any]]:
    longest = max(len(before), len(after))
    padded = ([*each, *[None] * (longest - len(each))] for each in (before, after))
    return list(zip(*padded, strict=True))


def _told(command: Row | None) -> str | None:
    """A command and what came of it as lines, without times."""
    if command is None:
        return None
    lines = [f"{name}: {command[name]}" for name in _FIELDS if command[name] is not None]
    return without_times("\n".join([command["action"], *lines])) + "\n"


def _entry(row: Row | None) -> str | None:
    """An entry as lines, without times."""
    if row is None:
        return None
    head = " ".join(filter(None, [row["visibility"], row["state"], row["outcome"]]))
    return without_times(f"{head}\n{row['body'] or ''}") + "\n"
