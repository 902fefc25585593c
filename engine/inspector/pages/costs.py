"""What the models cost: by day, by model, by run.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asked import whole

if TYPE_CHECKING:
    from engine.api.database import Database

_DAYS = """
    with recursive days (day, left) as (
        select date('now', '-' || (:days - 1) || ' days'), :days - 1
        union all
        select date(day, '+1 day'), left - 1 from days where left > 0
    )
    select d.day, coalesce(sum(c.known_cost), 0) as cost, coalesce(sum(c.calls), 0) as calls,
        coalesce(sum(c.prompt_tokens), 0) as tokens_in, coalesce(sum(c.completion_tokens), 0) as tokens_out
    from days as d
    left join cost_by_day as c on c.day = d.day
    group by d.day
    order by d.day
"""
_BY = """
    select {} as name, sum(known_cost) as cost, sum(unknown_prices) as unknown, sum(calls) as calls,
        sum(prompt_tokens) as tokens_in, sum(cached_tokens) as tokens_cached, sum(completion_tokens) as tokens_out
    from cost_by_day
    where day >= date('now', '-' || (:days - 1) || ' days')
    group by 1
    order by cost desc, calls desc
    limit 100
"""


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The costs of the last days."""
    days = max(1, min(whole(asked, "days", 30), 366))
    given = {"days": days}
    by_day = db.rows(_DAYS, given)
    return {
        "days": days,
        "by_day": by_day,
        "by_model": db.rows(_BY.format("model"), given),
        "by_run": db.rows(_BY.format("run"), given),
        "cost": sum(row["cost"] for row in by_day),
        "calls": sum(row["calls"] for row in by_day),
    }
