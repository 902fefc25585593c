"""The history of an entry or a file: each text it has had, what changed it, and how this run saw it.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import NotFound
from engine.inspector.differences import difference

from .asked import run_of

if TYPE_CHECKING:
    from engine.api.database import Database

MOST = 200
_VERSIONS = """
    with e as (
        select e.id, e.content_id, e.since
        from run_scopes as l
        join entries as e on e.scope = l.scope and e.path = :path
        where l.run_id = :id
    ),
    versions as (
        select h.began, h.content_id, h.visibility, h.state, h.outcome, h.turn
        from e join run_view_versions as h on h.entry_id = e.id and h.run_id = :id
        union all
        select v.since, v.content_id, v.visibility, v.state, v.outcome, v.turn
        from e join run_views as v on v.entry_id = e.id and v.run_id = :id
        union all
        select w.began, w.content_id, null, null, null, null from e join entry_versions as w on w.entry_id = e.id
        union all
        select coalesce(e.since, 0), e.content_id, null, null, null, null from e where e.content_id is not null
    )
    select
        v.began, v.visibility, v.state, v.outcome, v.turn, v.content_id, substr(c.body, 1, 200000) as body,
        length(c.body) as chars,
        (
            select strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
            from events as ev where ev.id <= v.began order by ev.id desc limit 1
        ) as at
    from versions as v
    left join contents as c on c.id = v.content_id
    order by v.began desc
    limit :most
"""
_CHANGES = """
    select c.* from file_changes as c
    where c.path = :path and (c.run is null or c.run in (
        select r.alias from runs as r where r.project_id = (select project_id from runs where id = :id)
    ))
    order by c.created_at desc
    limit 200
"""


def page(db: Database, asked: dict[str, str]) -> dict[str, Any]:
    """The texts with their differences, newest first, and what was done to a file."""
    run = run_of(db, asked)
    path = asked.get("path", "")
    versions = db.rows(_VERSIONS, {"path": path, "id": run["run_id"], "most": MOST})
    changes = db.rows(_CHANGES, {"path": path, "id": run["run_id"]})
    if not versions and not changes:
        raise NotFound(f"run {run['run']!r}: there is no entry {path[:200]!r}")
    texts: list[dict[str, Any]] = []
    for version in reversed([each for each in versions if each["content_id"] is not None]):
        if not texts or texts[-1]["content_id"] != version["content_id"]:
            before = texts[-1]["body"] if texts else ""
            lines = difference(before, version["body"] or "", "before", "after")
            texts.append({**version, "diff": lines})
    return {
        "run": run,
        "path": path,
        "versions": [each for each in versions if each["visibility"] is not None],
        "texts": texts[::-1],
        "changes": changes,
    }
