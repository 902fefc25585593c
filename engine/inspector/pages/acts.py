"""The rules that were loaded, and what threads did, each with the reason.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asked import run_of

if TYPE_CHECKING:
    from engine.api.database import Database

_LOADS = "select * from rule_loads where run = ? order by turn desc limit 200"
_MATCHES = "select * from rule_matches where run = ? order by turn desc limit 300"
_THREADS = """
    select t.name, t.level, t.state, t.purpose, t.added_by,
        (select count(*) from thread_log as g where g.thread = t.name and g.run = f.run) as acts
    from threads_in_force as f
    join thread_list as t on t.thread_id = f.thread_id
    where f.run = ?
    order by t.priority desc, t.name
"""
_ACTED = "select * from thread_log where run = ? order by event_id desc limit 300"
_POLICIES = "select * from policies order by level, policy_id limit 200"
_VERDICTS = "select * from acceptances where run = ? order by turn, attempt limit 200"
_DECIDED = """
    select d.* from decisions as d where d.run = ? order by d.decided_at desc, d.proposal_id desc limit 300
"""


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """What was loaded, what acted, and who decided."""
    run = run_of(db, asked)
    return {
        "run": run,
        "loads": db.rows(_LOADS, (run["run"],)),
        "matches": db.rows(_MATCHES, (run["run"],)),
        "threads": db.rows(_THREADS, (run["run"],)),
        "acted": db.rows(_ACTED, (run["run"],)),
        "policies": db.rows(_POLICIES),
        "verdicts": db.rows(_VERDICTS, (run["run"],)),
        "decided": db.rows(_DECIDED, (run["run"],)),
    }
