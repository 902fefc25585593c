"""A run as a timeline: prompts, turns, what was done and decided, and how its context, cost and time went.

spec: @inspector_pages
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .asked import grouped, run_of, whole
from .prompting import prompt_form

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

PER_PAGE = 50
COLUMNS = 160
"""So many columns has a chart at most; turns that share one are summed, and of their contexts the largest is shown."""
_CHART = """
    with n as (
        select min(sequence) as first, max(max(sequence) - min(sequence) + 1, :columns) as wide from turns where run_id = :id
    )
    select
        min(t.sequence) as turn,
        max(t.sequence) as last,
        max(t.context_tokens) as context_tokens,
        sum(t.cost) as cost,
        sum(coalesce(t.ms_model, 0) + coalesce(t.ms_engine, 0)) / 1000.0 as seconds,
        max(t.streak) as strikes,
        sum((select count(*) from demotions as d where d.turn_id = t.id)) as demoted
    from turns as t, n
    where t.run_id = :id
    group by (t.sequence - n.first) * :columns / n.wide
    order by 1
"""
_CEILING = """
    select b.ceiling from loops as l join _loop_ceilings as b on b.loop_id = l.id
    where l.run_id = ? order by l.status = 102 desc, l.sequence desc limit 1
"""
_FILLED = """
    select substr(path, 1, instr(path || '://', '://') - 1) as scheme, instr(path, '://') = 0 as is_file, visibility,
        count(*) as entries, sum(tokens) as tokens
    from context_at
    where run = :run and turn = :turn
    group by case when instr(path, '://') then substr(path, 1, instr(path, '://')) end, visibility
    order by tokens desc
"""
_TURNS = """
    select
        l.*, t.reasoning, substr(x.prose, 1, 200000) as prose, n.name as word,
        case when l.prompt_tokens > 0 then coalesce(l.cached_tokens, 0) * 1.0 / l.prompt_tokens end as cached_share,
        (select count(*) from demotions as d where d.turn_id = t.id) as demoted
    from turn_timeline as l
    join turns as t on t.run_id = :id and t.sequence = l.turn
    left join _response_prose as x on x.turn_id = t.id
    join statuses as n on n.code = l.status
    where l.run = :run and l.turn between :first and :last
    order by l.turn
"""
_STORY = """
    select
        s.*, n.name as word,
        (
            select group_concat(a.alias, char(10))
            from runs as r
            join turns as t on t.run_id = r.id and t.sequence = s.turn
            join commands as c on c.turn_id = t.id and c.ordinal = s.step
            join effects as f on f.command_id = c.id
            join children as k on k.effect_id = f.id
            join runs as a on a.id = k.run_id
            where r.alias = s.run and s.kind = 'command'
        ) as given_to
    from run_story as s
    left join statuses as n on n.code = s.status
    where s.run = :run and s.turn between :first and :last and s.kind in ('command', 'note')
    order by s.turn, s.step
"""
_DECISIONS = """
    select d.*, c.turn_id, c.ordinal
    from decisions as d
    join commands as c on c.id = d.command_id
    where d.run = :run and d.turn between :first and :last
"""
_LOOPS = """
    select l.*, n.name as word,
        (select min(t.turn) from turn_timeline as t where t.run = l.run and t.loop = l.loop) as first_turn,
        (select max(t.turn) from turn_timeline as t where t.run = l.run and t.loop = l.loop) as last_turn
    from loop_list as l
    join statuses as n on n.code = l.status
    where l.run = :run
    order by l.loop
"""
_WAITING = "select * from open_proposals where run = :run order by proposal_id"
_PAGES = "select min(sequence) as first, max(sequence) as last, count(*) as turns from turns where run_id = ?"


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The run, its charts over all turns, and the turns of one page."""
    run = run_of(db, asked)
    extent = db.row(_PAGES, (run["run_id"],)) or {}
    first_turn, last_turn = extent["first"] or 1, extent["last"] or 0
    pages = max(1, -(-(last_turn - first_turn + 1) // PER_PAGE))
    number = min(whole(asked, "page", pages), pages)
    first = first_turn + (number - 1) * PER_PAGE
    given = {"run": run["run"], "id": run["run_id"], "first": first, "last": first + PER_PAGE - 1}
    shown = {"run": run["run"], "first": first, "last": first + PER_PAGE - 1}
    story = db.rows(_STORY, shown)
    for row in story:
        row["changes"] = json.loads(row["changes"] or "[]")
        row["outputs"] = json.loads(row["outputs"] or "[]")
        row["given_to"] = (row["given_to"] or "").splitlines()
    decisions: dict[tuple[int, int], list[Row]] = {}
    for row in db.rows(_DECISIONS, shown):
        decisions.setdefault((row["turn"], row["ordinal"]), []).append(row)
    loops = db.rows(_LOOPS, {"run": run["run"]})
    return {
        "run": run,
        "chart": db.rows(_CHART, {"id": run["run_id"], "columns": COLUMNS}),
        "ceiling": db.value(_CEILING, (run["run_id"],)),
        "filled": db.rows(_FILLED, {"run": run["run"], "turn": last_turn}),
        "turns": db.rows(_TURNS, given),
        "story": grouped(story, "turn"),
        "decisions": decisions,
        "loops": loops,
        "begins": {loop["first_turn"]: loop for loop in loops if loop["first_turn"] is not None},
        "ends": {loop["last_turn"]: loop for loop in loops if loop["last_turn"] is not None},
        "unbegun": [loop for loop in loops if loop["first_turn"] is None],
        "waiting": db.rows(_WAITING, {"run": run["run"]}),
        "form": prompt_form(db, is_new=False),
        "number": number,
        "pages": pages,
        "last_turn": last_turn,
    }
