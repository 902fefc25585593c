"""All runs of a database: search, filters, what they cost and did.

spec: @inspector_pages
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .asked import pattern, text, whole

if TYPE_CHECKING:
    from engine.api.database import Database

PER_PAGE = 50
_FITS = """
    select r.id, count(*) over () as total
    from runs as r
    join projects as p on p.id = r.project_id
    where (:archived is not null or r.archived_at is null)
        and (:status is null or (select s.name from _run_statuses as k join statuses as s on s.code = k.status
            where k.run_id = r.id) = :status)
        and (:model is null or coalesce(r.model, '') = :model)
        and (:project is null or p.name = :project)
        and (:label is null or exists (select 1 from json_each(r.labels) as j where j.value = :label))
        and (
            :like is null or r.alias like :like escape '\\' or r.title like :like escape '\\'
            or exists (
                select 1 from loops as l
                where l.run_id = r.id and (l.prompt like :like escape '\\' or l.answer like :like escape '\\')
            )
        )
        -- without a filter, runs that others gave work to are folded below these
        and (:flat or not exists (select 1 from children as c where c.run_id = r.id))
    order by r.updated_at desc, r.id desc
    limit :most offset :skip
"""
_RUNS = """
    select
        o.*, s.name as word,
        (select count(*) from tree_runs as t where t.top = o.run) - 1 as below,
        (
            select json_group_array(context_tokens)
            from (
                select context_tokens from (
                    select t.context_tokens, t.sequence from turns as t where t.run_id = r.id
                    order by t.sequence desc limit 40
                ) order by sequence
            )
        ) as context,
        (select count(*) from proposals as q where q.run_id = r.id and q.state = 'proposed') as proposals
    from json_each(:ids) as f
    join runs as r on r.id = f.value
    join run_overview as o on o.run = r.alias
    join statuses as s on s.code = o.status
    order by r.updated_at desc, r.id desc
"""
_BELOW = """
    select t.top, t.level, o.run, o.title, o.model, o.turns, o.cost, s.name as word
    from json_each(:tops) as j
    join tree_runs as t on t.top = j.value and t.level > 0
    join run_overview as o on o.run = t.run
    join statuses as s on s.code = o.status
    order by t.top, t.tree
    limit 500
"""
_DAYS = """
    with recursive days (day, left) as (
        select date('now', '-29 days'), 29
        union all
        select date(day, '+1 day'), left - 1 from days where left > 0
    )
    select d.day, coalesce(sum(c.known_cost), 0) as cost, coalesce(sum(c.calls), 0) as calls
    from days as d
    left join cost_by_day as c on c.day = d.day
    group by d.day
    order by d.day
"""
_FIGURES = """
    select
        (select count(*) from runs) as runs,
        (select count(distinct run) from open_work where state = 'running') as running,
        (select count(distinct run_id) from proposals where state = 'proposed') as waiting,
        (select count(*) from _run_statuses where status >= 400) as failed,
        (select sum(known_cost) from cost_by_day) as cost
"""
_CHOICES = {
    "status": "select s.name as value, count(*) as n from _run_statuses as k join statuses as s on s.code = k.status "
    "group by 1 order by 2 desc",
    "model": "select model as value, count(*) as n from runs where model is not null group by 1 order by 2 desc limit 40",
    "project": "select p.name as value, count(*) as n from runs as r join projects as p on p.id = r.project_id "
    "group by 1 order by 2 desc limit 40",
    "label": "select j.value, count(*) as n from runs as r join json_each(r.labels) as j "
    "group by 1 order by 2 desc limit 40",
}


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The runs that fit, a page of them, and the figures of the file."""
    number = whole(asked, "page")
    chosen = {name: text(asked, name) for name in ("q", "status", "model", "project", "label", "archived")}
    given = {
        **chosen,
        "like": pattern(chosen["q"]),
        "flat": any(chosen[name] for name in ("q", "status", "model", "project", "label")),
        "most": PER_PAGE,
        "skip": (number - 1) * PER_PAGE,
    }
    del given["q"]
    fits = db.tuples(_FITS, given)
    runs = db.rows(_RUNS, {"ids": json.dumps([number for number, _ in fits])})
    for run in runs:
        run["context"] = json.loads(run["context"])
        run["labels"] = json.loads(run["labels"])
    tops = [run["run"] for run in runs if run["below"] and not given["flat"]]
    below: dict[str, list[Any]] = {}
    for row in db.rows(_BELOW, {"tops": json.dumps(tops)}) if tops else []:
        below.setdefault(row["top"], []).append(row)
    return {
        "runs": runs,
        "below": below,
        "total": fits[0][1] if fits else 0,
        "number": number,
        "per_page": PER_PAGE,
        "chosen": {name: value for name, value in chosen.items() if value},
        "choices": {name: db.rows(sql) for name, sql in _CHOICES.items()},
        "days": db.rows(_DAYS),
        "figures": db.row(_FIGURES),
    }
