"""Reads what a page was asked for.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import NotFound, ValidationError

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

_RUN = """
    select
        o.*, r.id as run_id, r.role, r.persona, r.effort, s.name as word, p.root,
        (select sum(t.prompt_tokens) from turns as t where t.run_id = r.id) as tokens_in,
        (select sum(t.cached_tokens) from turns as t where t.run_id = r.id) as tokens_cached,
        (select sum(t.completion_tokens) from turns as t where t.run_id = r.id) as tokens_out,
        (select sum(t.ms_model) / 1000.0 from turns as t where t.run_id = r.id) as model_s,
        (select count(*) from children as c where c.parent_run_id = r.id) as children,
        (select a.alias from children as c join runs as a on a.id = c.root_run_id where c.run_id = r.id) as root_run,
        (select w.state from open_work as w where w.run = r.alias order by w.loop limit 1) as work,
        (select count(*) from proposals as q where q.run_id = r.id and q.state = 'proposed') as proposals
    from runs as r
    join run_overview as o on o.run = r.alias
    join statuses as s on s.code = o.status
    join projects as p on p.id = r.project_id
    where r.alias = ?
"""


def run_of(db: Database, asked: dict[str, str]) -> Row:
    """The run that is asked for; raises `NotFound` (404)."""
    found = db.row(_RUN, (asked.get("run", ""),))
    if found is None:
        raise NotFound(f"run {asked.get('run', '')!r}: there is no such run")
    return found


def whole(asked: dict[str, str], name: str, default: int = 1) -> int:
    """A positive whole number of an address; raises `ValidationError` (400)."""
    text = asked.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValidationError(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def text(asked: dict[str, str], name: str) -> str | None:
    """A text of an address; None where it is empty."""
    return asked.get(name, "").strip() or None


def pattern(found: str | None) -> str | None:
    """What LIKE takes for "has this in it", with \\ as its escape."""
    if found is None:
        return None
    for mark in "\\%_":
        found = found.replace(mark, "\\" + mark)
    return f"%{found}%"


def grouped(rows: list[Row], key: str) -> dict[Any, list[Row]]:
    """The rows by one of their columns, in their order."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found
