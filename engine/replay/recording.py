"""What a file has recorded of a run: its turns, the packets, what the model answered, what came of effects, who decided."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import EngineError, NotFound

from .scratch import RECORDED

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle
    from engine.models.protocol import CostFrom

_TOOLS = re.compile(r"^(?:Commands you MAY use|You MAY also call):? ([^\n]*)", re.MULTILINE)
"""The line of a system message that names the tools."""
_TURN = """
    select
        t.id, t.sequence, t.response, t.reasoning, t.prompt_tokens, t.cached_tokens, t.completion_tokens,
        t.reasoning_tokens, t.cost, t.cost_from, t.native, t.finish_reason, t.seen_at,
        t.phase = 'judged' as judged, t.refused,
        (
            select json_group_array(json_array(c.status, c.message))
            from (
                select status, message from model_calls where turn_id = t.id and state = 'failed' order by attempt
            ) as c
        ) as failures,
        exists (select 1 from events as v where v.turn_id = t.id and v.kind = 'turn.answered') as answered
    from turns as t
    where t.run_id = ? and t.sequence = ?
"""
_EFFECT = """
    select
        f.id, f.kind, c.action, c.path, coalesce(b.body, c.body) as body, c.message as told,
        x.state, x.outcome, x.message, x.detail
    from turns as t
    join commands as c on c.turn_id = t.id and c.ordinal = :ordinal
    join effects as f on f.command_id = c.id and f.kind = :kind
    left join _command_bodies as b on b.command_id = c.id
    left join effect_results as x on x.effect_id = f.id
    where t.run_id = :run and t.sequence = :turn
    order by f.id
    limit 1 offset :place
"""
_OUTPUT = """
    select n.channel, b.body
    from _effect_channels as n
    join _run_paths as p on p.run_id = n.run_id and p.path = n.path
    join _entry_bodies as b on b.run_id = p.run_id and b.entry_id = p.entry_id
    where n.effect_id = ? and b.body <> ''
    order by n.channel
"""
_DECISION = """
    select p.state, p.content_id, p.kind, p.detail, d.decision, d.body, d.reason, d.decided_by
    from turns as t
    join commands as c on c.turn_id = t.id and c.ordinal = :ordinal
    join proposals as p on p.command_id = c.id and p.ordinal = :place
    left join _first_decisions as k on k.proposal_id = p.id
    left join resolutions as d on d.id = k.resolution_id
    where t.run_id = :run and t.sequence = :turn
"""
_COMMANDS = """
    select
        c.id, c.action, c.path, c.destination, c.body, c.attributes, c.state,
        (
            select min(t.sequence)
            from turns as t
            where t.run_id = c.run_id
                and case
                    when exists (select 1 from commands as m where m.turn_id = t.id)
                        then (select max(m.id) from commands as m where m.turn_id = t.id) > c.id
                    else t.created_at >= c.created_at
                end
        ) as turn
    from commands as c
    where c.run_id = ? and c.turn_id is null and c.writer = 'client'
    order by c.id
"""
_BROUGHT = """
    select e.path, coalesce(b.body, h.body) as body, coalesce(m.attributes, e.attributes) as attributes, v.visibility
    from (
        select run_id, entry_id, visibility, content_id, metadata_id, turn, since
        from run_views
        union all
        select run_id, entry_id, visibility, content_id, metadata_id, turn, began
        from run_view_versions
    ) as v
    join entries as e on e.id = v.entry_id and e.kind <> 'file'
    left join contents as b on b.id = v.content_id
    left join contents as h on h.id = e.content_id
    left join _metadata as m on m.id = v.metadata_id
    where v.run_id = :run
        and v.turn = :turn
        and exists (
            select 1
            from _scheme_writers as w
            join schemes as s on s.name = w.scheme
            where w.scheme = e.kind and w.writer = 'plugin' and s.category in ('data', 'unknown')
        )
        and not exists (
            select 1
            from turns as t
            join commands as c on c.turn_id = t.id and c.action in ('set', 'cp', 'mv') and e.path in (c.path, c.destination)
            where t.run_id = :run and t.sequence = :turn
        )
        and not exists (
            select 1
            from turns as t
            join commands as c on c.turn_id = t.id
            join effects as f on f.command_id = c.id
            join _effect_channels as n on n.effect_id = f.id and n.path = e.path
            where t.run_id = :run and t.sequence = :turn
        )
    order by e.path, v.since
"""
"""The entries of a turn that no command and no process wrote; of one that was written again the last row counts."""
_RENAMED = """
    select run_id
    from events
    where kind = 'run.renamed' and detail ->> '$.from' = ? and detail ->> '$.to' glob ?
    order by id desc
    limit 1
"""
_NAMED = """
    select v.detail ->> '$.from', v.run_id
    from events as v
    join tree_runs as t on t.run_id = v.run_id
    where v.kind = 'run.renamed' and v.detail ->> '$.to' glob ? and t.top = ?
    order by v.id
"""
_ORDER = """
    with steps (run_id, loop_id, turn_id, turn, seen_at) as (
        select t.run_id, t.loop_id, t.id, t.sequence, t.seen_at
        from tree_runs as r
        join turns as t on t.run_id = r.run_id
        where r.top = ?
    )
    select run_id, turn, 'packet' as what, seen_at as clock
    from steps
    where seen_at is not null
    union all
    select
        s.run_id, s.turn, 'answer',
        coalesce(
            (select e.id from events as e where e.turn_id = s.turn_id and e.kind = 'turn.answered'),
            -- a turn without an answer ended with its loop
            (
                select min(e.id)
                from events as e
                join loops as l on l.id = s.loop_id
                where e.run_id = s.run_id
                    and e.kind = 'loop.status'
                    and e.detail ->> '$.loop' = l.sequence
                    and e.detail ->> '$.to' not in (100, 102, 202)
            ), 9e18
        )
    from steps as s
    order by 4, 3 desc
"""
_ABORTED = """
    with recursive above (run_id, loop_id, level) as (
        select run_id, loop_id, 0
        from turns
        where run_id = :run and sequence = :turn
        union all
        select k.parent_run_id, k.parent_loop_id, a.level + 1
        from above as a
        join children as k on k.run_id = a.run_id
        where k.parent_loop_id is not null
    )
    select a.run_id, l.reason
    from above as a
    join loops as l on l.id = a.loop_id and l.status = 499
    order by a.level desc
    limit 1
"""
_TAKES_BACK_A_REWIND = """
    select 1
    from undone_edits as u
    left join undone_edits as i on i.command_id = u.undone_id
    join rewinds as w on w.command_id = coalesce(i.undone_id, u.undone_id)
    where ? in (w.run_id, w.from_run_id)
    limit 1
"""


class Moment(NamedTuple):
    """When the packet of a turn was made, or its answer came: `what` is packet or answer."""

    run: str
    turn: int
    what: str


class Turn(NamedTuple):
    """A recorded turn. `failures` are status and message of each model call that failed, as JSON;
    `refused` is how often its packet was refused as too long; `answered` is 0 if its run was aborted before the answer came.
    """

    id: int
    sequence: int
    response: str | None
    reasoning: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None
    cost_from: CostFrom | None
    native: int
    finish_reason: str | None
    seen_at: int | None
    judged: int
    refused: int
    failures: str
    answered: int

    @property
    def calls(self) -> list[tuple[int, str]]:
        """The status and the message of each model call that failed."""
        return [(status, message) for status, message in json.loads(self.failures)]


class Recording:
    """The record of a run and of those below it, in a file where `recorded.ID` are their names."""

    def __init__(self, db: Handle, run: str, run_id: int) -> None:
        self.db = db
        self.run = run
        self.run_id = run_id
        self._ids = {run: run_id}

    def id_of(self, run: str) -> int | None:
        """The number of the recorded run that had this name; None where there was none."""
        if run not in self._ids:
            if (found := self.db.value(_RENAMED, (run, f"{RECORDED}*"))) is None:
                return None
            self._ids[run] = found
        return self._ids[run]

    def turn(self, run: str, sequence: int) -> Turn | None:
        """A recorded turn; None where there is none of that number."""
        row = self.db.row(_TURN, (self.id_of(run), sequence))
        return None if row is None else Turn(**row)

    def packet(self, run: str, sequence: int) -> list[tuple[str, str]]:
        """The messages of a turn as they were sent: (role, text)."""
        rows = self.db.tuples(
            "select role, body from packet_texts where run = ? and turn = ? order by ordinal",
            (f"{RECORDED}{self.id_of(run)}", sequence),
        )
        return [(role, body or "") for role, body in rows]

    def turns(self, run: str) -> list[int]:
        """The numbers of the turns that a run took itself."""
        return [
            number
            for (number,) in self.db.tuples(
                "select sequence from turns where run_id = ? order by sequence", (self.id_of(run),)
            )
        ]

    def order(self, top: str) -> list[Moment]:
        """The packets and the answers of the tree below `top`, in the order in which they came."""
        names = {number: name for name, number in self.names(top).items()}
        return [Moment(names[run_id], turn, what) for run_id, turn, what, _ in self.db.tuples(_ORDER, (top,))]

    def names(self, top: str) -> dict[str, int]:
        """The numbers of the recorded runs below `top` by the names that they had."""
        return dict(self.db.tuples(_NAMED, (f"{RECORDED}*", top)))

    def aborted(self, run: str, turn: int) -> tuple[str, str] | None:
        """The run whose abort ended this turn, which may be one above, and the reason; None if nobody aborted it."""
        found = self.db.row(_ABORTED, {"run": self.id_of(run), "turn": turn})
        if found is None:
            return None
        return next(name for name, number in self._ids.items() if number == found["run_id"]), found[
            "reason"
        ] or "aborted"

    def told_tools(self, run: str) -> set[str]:
        """The names of tools in the system message of a run's first packet; empty where there is none."""
        turns = self.turns(run) if self.id_of(run) is not None else []
        lines = _TOOLS.findall("".join(text for turn in turns[:1] for role, text in self.packet(run, turn)))
        return {name for line in lines for name in re.findall(r"[\w-]+(?:\.[\w-]+)*", line)}

    @cached_property
    def requests(self) -> list[Row]:
        """What was asked of the run from outside its turns, in order; `turn` is the first turn whose commands came later."""
        return self.db.rows(_COMMANDS, (self.run_id,))

    def effect(self, run: str, place: dict[str, Any]) -> Row | None:
        """What came of an effect of the recorded run: a row with `state`, `outcome`, `message`, `detail`, `output`."""
        row = self.db.row(_EFFECT, {"run": self.id_of(run), **place})
        if row is not None:
            row["output"] = self.db.tuples(_OUTPUT, (row["id"],)) if row["kind"] == "process" else []
        return row

    def brought(self, run: str, sequence: int) -> list[Row]:
        """The entries that effects of a turn brought: `path`, `body`, `attributes`, `visibility`."""
        rows = self.db.rows(_BROUGHT, {"run": self.id_of(run), "turn": sequence})
        return [*{row["path"]: row for row in rows}.values()]

    def decision(self, run: str, turn: int, ordinal: int, place: int) -> Row | None:
        """What became of a recorded proposal, and who decided how."""
        which = {"run": self.id_of(run), "turn": turn, "ordinal": ordinal, "place": place}
        return self.db.row(_DECISION, which)

    def expect_replayable(self) -> None:
        """Raise `EngineError` (422) for a run that cannot be run again from its record, and say why."""
        if reason := self._obstacle():
            raise EngineError(f"run {self.run}: cannot be replayed: {reason}", 422)

    def expect_nothing_taken_back(self, first: int) -> None:
        """Raise `EngineError` (422) for a run of whose past edits were taken back: a fork is told of that at other turns."""
        undone = "select 1 from undone_edits as u join _run_lines as l on l.source_id = u.run_id where l.run_id = ?"
        if self.db.has("undo") and self.db.value(undone, (self.run_id,)):
            raise EngineError(
                f"run {self.run}: cannot be replayed from turn {first}: edits before it were taken back; replay the whole "
                "run",
                422,
            )

    def _obstacle(self) -> str | None:
        value = self.db.value
        gone = (
            "select t.sequence from turns as t where t.run_id = ? and t.phase = 'judged' and t.seen_at is not null "
            "and not exists (select 1 from packets as p where p.turn_id = t.id) limit 1"
        )
        if (turn := value(gone, (self.run_id,))) is not None:
            return f"the packet of turn {turn} is not in the file any more"
        if self.db.has("undo") and value(_TAKES_BACK_A_REWIND, (self.run_id,)):
            return "a rewind of it was taken back, which swapped its turns with those of another run"
        job = "select 1 from effects where run_id = ? and kind = 'process' and detail ->> '$.background' is not null"
        if value(job, (self.run_id,)):
            return "it ran commands in the background, whose output came between the steps of its turns"
        return None


def run_id_of(db: Handle, run: str) -> int:
    """The number of a run. Raises `NotFound` (404)."""
    found = db.value("select id from runs where alias = ?", (run,))
    if found is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    return int(found)
