"""A run with those that it gave work to, on a line of time, and the steps of a workflow as a graph.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asked import run_of

if TYPE_CHECKING:
    from engine.api.database import Database

_RUNS = """
    with spans as (
        select
            t.run, t.level, t.tree, r.role,
            (select min(l.created_at) from loops as l where l.run_id = r.id) as began,
            coalesce(
                case when not exists (select 1 from loops as l where l.run_id = r.id and l.ended_at is null)
                    then (select max(l.ended_at) from loops as l where l.run_id = r.id) end,
                cast(unixepoch('subsec') * 1000 as integer)
            ) as ended
        from tree_runs as t
        join runs as r on r.id = t.run_id
        where t.top = :top
    ),
    whole as (select min(began) as began, max(max(ended) - min(began), 1) as took from spans)
    select
        s.run, s.level, s.role, o.title, o.model, o.turns, o.cost, o.tree_cost, n.name as word,
        (s.ended - s.began) / 1000.0 as seconds,
        coalesce((s.began - w.began) * 1.0 / w.took, 0) as start,
        coalesce((s.ended - s.began) * 1.0 / w.took, 0) as width
    from spans as s
    cross join whole as w
    join run_overview as o on o.run = s.run
    join statuses as n on n.code = o.status
    order by s.tree
    limit 1000
"""
_STEPS = """
    select s.* from step_list as s
    where s.run in (select t.run from tree_runs as t where t.top = :top)
    order by s.run, s.layer, s.step
"""


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """All runs of the tree that the run belongs to, and the graphs of its workflows."""
    run = run_of(db, asked)
    top = run["root_run"] or run["run"]
    graphs: dict[str, list[dict[str, Any]]] = {}
    for step in db.rows(_STEPS, {"top": top}):
        needs = step["needs"].split(", ") if step["needs"] else []
        graphs.setdefault(step["run"], []).append({**step, "needs": needs})
    return {"run": run, "top": top, "runs": db.rows(_RUNS, {"top": top}), "graphs": graphs}
