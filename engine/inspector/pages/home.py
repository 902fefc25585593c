"""All runs of a database: search, filters, what they cost and did. `engine.inspector.all_files` has those of several.

spec: @inspector_pages
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .asked import pattern, text, whole
from .prompting import prompt_form

if TYPE_CHECKING:
    from engine.api.database import Database

PER_PAGE = 50
_FITS = """
    select r.id, count(*) over () as total, r.updated_at
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
        o.*, r.id as run_id, s.name as word,
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
_NARROWING = ("q", "status", "model", "project", "label")
FILTERS = (*_NARROWING, "archived")


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The runs that fit, a page of them, and the figures of the file."""
    number = whole(asked, "page")
    chosen = chosen_of(asked)
    fits = matching(db, chosen, PER_PAGE, (number - 1) * PER_PAGE)
    return {
        "runs": listed(db, [fit[0] for fit in fits], chosen),
        "total": fits[0][1] if fits else 0,
        "number": number,
        "per_page": PER_PAGE,
        "chosen": chosen,
        "choices": choices(db),
        "days": db.rows(_DAYS),
        "figures": db.row(_FIGURES),
        "form": prompt_form(db, is_new=True),
    }


def chosen_of(asked: dict[str, str]) -> dict[str, str]:
    """The filters that are asked for."""
    return {name: value for name in FILTERS if (value := text(asked, name))}


def is_flat(chosen: dict[str, str]) -> bool:
    """Whether runs that others gave work to are listed among all, because something is looked for."""
    return any(name in chosen for name in _NARROWING)


def matching(db: Database, chosen: dict[str, str], most: int, skip: int = 0) -> list[tuple[int, int, int]]:
    """The runs that fit: number, how many fit in all, and when each was updated, the latest first."""
    given = {name: chosen.get(name) for name in FILTERS if name != "q"}
    like = pattern(chosen.get("q"))
    return db.tuples(_FITS, {**given, "like": like, "flat": is_flat(chosen), "most": most, "skip": skip})


def listed(db: Database, numbers: list[int], chosen: dict[str, str]) -> list[dict[str, Any]]:
    """What the list says of these runs, each with those that are folded below it."""
    runs = [dict(run) for run in db.rows(_RUNS, {"ids": json.dumps(numbers)})]
    folds = [] if is_flat(chosen) else [run["run"] for run in runs if run["below"]]
    below: dict[str, list[Any]] = {}
    for row in db.rows(_BELOW, {"tops": json.dumps(folds)}) if folds else []:
        below.setdefault(row["top"], []).append(row)
    for run in runs:
        run["context"] = json.loads(run["context"])
        run["labels"] = json.loads(run["labels"])
        run["folded"] = below.get(run["run"], [])
    return runs


def choices(db: Database) -> dict[str, list[Any]]:
    """The values of each filter that runs have, and how many have them."""
    return {name: db.rows(sql) for name, sql in _CHOICES.items()}


def summary(db: Database) -> dict[str, Any]:
    """The figures of a file, its last 30 days and the values of its filters."""
    return {"figures": db.row(_FIGURES) or {}, "days": db.rows(_DAYS), "choices": choices(db)}
