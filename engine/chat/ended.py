"""The prompts of a run that have ended, as a session tells them.

spec: @chat_together
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Row, Store

TAKEN_BACK = "taken back"
"""The reason of a prompt that was taken out of the line: nobody is told of it."""
_ENDED = """
    select l.sequence as loop, l.prompt, l.status, l.reason
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = ? and l.sequence > ? and l.status not in (100, 102)
    order by l.sequence
"""
_LAST = """
    select coalesce(max(l.sequence), 0)
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = ? and l.status not in (100, 102)
"""


def ended_prompts(db: Store, run: str | None, after: int) -> list[Row]:
    """The prompts behind number `after` that have ended, in their order."""
    return db.rows(_ENDED, (run, after))


def last_ended(db: Store, run: str) -> int:
    """The number of the latest prompt that has ended; 0 where none has."""
    return int(db.value(_LAST, (run,)))


__all__ = ["TAKEN_BACK", "ended_prompts", "last_ended"]
