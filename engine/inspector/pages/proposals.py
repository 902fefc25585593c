"""The open proposals of all runs, to be accepted, rejected or answered.

spec: @inspector_pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.display.proposals import options_of, proposal_notes

if TYPE_CHECKING:
    from engine.api.database import Database

_OPEN = """
    select o.*, q.content_id, substr(c.body, 1, 200000) as proposed, length(c.body) as chars, w.state as work,
        (select l.prompt from loops as l where l.id = q.loop_id) as prompt
    from open_proposals as o
    join proposals as q on q.id = o.proposal_id
    left join contents as c on c.id = q.content_id
    left join open_work as w on w.run = o.run and w.state <> 'queued'
    order by o.proposal_id
    limit 100
"""


def page(db: Database, _: dict[str, str]) -> dict[str, Any]:
    """The proposals, each with what a person should know of it."""
    rows = db.rows(_OPEN)
    return {
        "proposals": [{**row, "notes": proposal_notes(row), "answers": options_of(row)} for row in rows],
        "total": db.value("select count(*) from open_proposals"),
    }
