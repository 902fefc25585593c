"""What SQLite counts while a statement runs, of each of its executions."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

LATE = 'with _ as (select 1) insert into "main".'
"""How a statement begins that runs within another one (schema/late_calls.py): apsw gives the sums of its executions."""


class Counters:
    """Reads a counter of SQLite from the events of `trace_v2` with SQLITE_TRACE_PROFILE, all those of a connection.

    It hears them from the beginning: the first event of a statement has the sum of what ran before.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str, str], int] = defaultdict(int)

    def of(self, event: dict[str, Any], counter: str = "VM_STEP") -> int:
        """What the execution that has ended has added: steps of SQLite's machine, or another counter of a statement."""
        value = int(event["stmt_status"][f"SQLITE_STMTSTATUS_{counter}"])
        if not event["sql"].startswith(LATE):
            return value
        statement = event["id"], event["sql"], counter  # the text of one that is in use is compiled once more
        before, self._sums[statement] = self._sums[statement], value
        return value - before if value >= before else value  # it was made anew
