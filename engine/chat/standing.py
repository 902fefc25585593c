"""Where the run of a session stands, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.terminal.printing import dollars
from engine.terminal.rules import rule_lines
from engine.terminal.titles import called

if TYPE_CHECKING:
    from engine.api.database import Database

_STANDS = """
    select
        o.*,
        (select s.name from statuses as s where s.code = o.status) as state,
        (select t.context_tokens from turn_timeline as t where t.run = o.run order by t.turn desc limit 1) as used,
        c.ceiling
    from run_overview as o
    join runs as r on r.alias = o.run
    left join loops as l on l.run_id = r.id and l.sequence = o.loops
    left join _loop_ceilings as c on c.loop_id = l.id
    where o.run = ?
"""


def standing_lines(db: Database, run: str | None) -> list[str]:
    """The state, the context, what waits, and the rules of a run; nothing of one that has not begun."""
    row = db.row(_STANDS, (run,))
    if row is None:
        return []
    used, ceiling = row["used"] or 0, row["ceiling"] or 0
    share = f"{used:,} of {ceiling:,} tokens" if ceiling else "nothing yet"
    waits = len(db.proposals(run))
    return [
        *filter(None, [called(row)]),
        f"{row['state']}, prompts {row['loops']}, turns {row['turns']}, {dollars(row['cost'])}",
        f"context {share}",
        *([f"waits for decisions: {waits}; /resume asks"] if waits else []),
        *(f"{name} {text}" for name, text in rule_lines(db, row["run"]).items()),
    ]


__all__ = ["standing_lines"]
