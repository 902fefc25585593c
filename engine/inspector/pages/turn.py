"""A turn: its packet by section, what changed since the turn before, the response, and what came of it.

spec: @inspector_pages
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.errors import NotFound
from engine.inspector.differences import difference

from .asked import grouped, run_of, whole

if TYPE_CHECKING:
    from engine.api.database import Database

_TURN = """
    select p.source, p.turn_id, t.*, n.name as word, u.response, u.reasoning, u.finish_reason,
        (select max(o.turn) from past_turns as o where o.run = p.run and o.turn < p.turn) as before,
        (select min(o.turn) from past_turns as o where o.run = p.run and o.turn > p.turn) as after,
        case when t.prompt_tokens > 0 then coalesce(t.cached_tokens, 0) * 1.0 / t.prompt_tokens end as cached_share
    from past_turns as p
    join turn_timeline as t on t.run = p.source and t.turn = p.turn
    join turns as u on u.id = p.turn_id
    join statuses as n on n.code = t.status
    where p.run = ? and p.turn = ?
"""
_SECTIONS = """
    with pieces as (
        select
            p.ordinal, p.role, row_number() over (partition by p.id order by s.key, j.key, c.id) as place, x.text, c.layer,
            case
                -- what stands between two layers belongs to the one before
                when c.layer = 'engine' and length(x.text) < 8 then null
                when c.layer is not null then c.layer
                when c.content_id is null and not c.fenced and c.head glob '<[a-z]*'
                    then substr(c.head, 2, min(
                        instr(c.head || '>', '>'), instr(c.head || ' ', ' '), instr(c.head || char(10), char(10))
                    ) - 2)
            end as name
        from packets as p
        cross join json_each(p.parts) as s
        cross join chunk_lists as l on l.id = s.value
        cross join json_each(l.chunks) as j
        join chunks as c
            on c.id between case j.type when 'array' then j.value ->> 0 else j.value end
            and case j.type when 'array' then j.value ->> 1 else j.value end
        join _chunk_texts as x on x.id = c.id
        where p.turn_id = ?
    ),
    named as (
        select *, first_value(name) over (partition by ordinal, mark order by place) as part
        from (select *, count(name) over (partition by ordinal order by place) as mark from pieces)
    ),
    numbered as (
        select *, sum(part is not last_part) over (partition by ordinal order by place) as section
        from (select *, lag(part) over (partition by ordinal order by place) as last_part from named)
    )
    select ordinal, role, section, max(part) as name, sum(length(text)) as chars, group_concat(text, '') as body
    from (select * from numbered order by ordinal, place)
    group by ordinal, section
    order by role = 'system', ordinal, section
"""
_PACKET = "select body from packet_texts where run = ? and turn = ? and role = 'user' order by ordinal desc limit 1"
_CHANGED = """
    select path, change, visibility_before, visibility
    from context_changes where run = ? and from_turn = ? and to_turn = ? order by change, path limit 500
"""
_FILLED = """
    select category, visibility, path, tokens, written
    from context_at where run = ? and turn = ? order by tokens desc limit 300
"""
_DEMOTED = (
    "select path, became, reason, tokens from demoted_entries where run = ? and turn = ? order by tokens desc limit 300"
)
_STORY = """
    select s.*, n.name as word from run_story as s left join statuses as n on n.code = s.status
    where s.run = ? and s.turn = ? and s.kind in ('command', 'note') order by s.step
"""
_DECISIONS = """
    select d.*, c.ordinal from decisions as d join commands as c on c.id = d.command_id
    where d.run = ? and d.turn = ? order by d.decided_at
"""


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """Everything about one turn."""
    run = run_of(db, asked)
    number = whole(asked, "turn")
    turn = db.row(_TURN, (run["run"], number))
    if turn is None:
        raise NotFound(f"run {run['run']!r}: there is no turn {number}")
    source, before = turn["source"], turn["before"]
    story = db.rows(_STORY, (source, number))
    for row in story:
        row["changes"] = json.loads(row["changes"] or "[]")
        row["outputs"] = json.loads(row["outputs"] or "[]")
        row["given_to"] = []
    packet = db.value(_PACKET, (source, number)) or ""
    earlier = "" if before is None else _packet_of(db, run["run"], before)
    return {
        "run": run,
        "turn": turn,
        "sections": db.rows(_SECTIONS, (turn["turn_id"],)),
        "packet_diff": difference(earlier, packet, f"turn {before}", f"turn {number}") if before is not None else [],
        "changed": [] if before is None else db.rows(_CHANGED, (run["run"], before, number)),
        "filled": db.rows(_FILLED, (run["run"], number)),
        "demoted": db.rows(_DEMOTED, (source, number)),
        "story": story,
        "decisions": grouped(db.rows(_DECISIONS, (source, number)), "ordinal"),
    }


def _packet_of(db: Database, run: str, turn: int) -> str:
    source = db.value("select source from past_turns where run = ? and turn = ?", (run, turn))
    return db.value(_PACKET, (source, turn)) or ""
