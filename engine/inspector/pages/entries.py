"""The entries that a run knows, and the files that it changed.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asked import pattern, run_of, text

if TYPE_CHECKING:
    from engine.api.database import Database

MOST = 300
_ENTRIES = """
    select path, scheme, visibility, state, tokens, turn, write_count
    from known_entries
    where run = :run and (:like is null or path like :like escape '\\') and (:scheme is null or scheme = :scheme)
    order by updated_at desc
    limit :most
"""
_SCHEMES = "select scheme as value, count(*) as n from known_entries where run = ? group by 1 order by 2 desc"
_FILES = """
    select c.path, count(*) as changes, sum(c.added) as added, sum(c.removed) as removed, max(c.turn) as turn,
        group_concat(distinct c.decided_by) as decided_by
    from file_changes as c
    where c.run in (select t.run from tree_runs as t where t.top = :run)
    group by c.path
    order by max(c.created_at) desc
    limit 200
"""


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The entries that fit, the kinds that there are, and the files that were changed."""
    run = run_of(db, asked)
    query, scheme = text(asked, "q"), text(asked, "scheme")
    given = {"run": run["run"], "like": pattern(query), "scheme": scheme, "most": MOST}
    return {
        "run": run,
        "entries": db.rows(_ENTRIES, given),
        "schemes": db.rows(_SCHEMES, (run["run"],)),
        "files": db.rows(_FILES, {"run": run["run"]}),
        "query": query or "",
        "scheme": scheme or "",
        "most": MOST,
    }
