"""The functions of an app and the tools of MCP servers that a recorded run had, without the app and the servers."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from engine.tools.app_tools import AppTools

if TYPE_CHECKING:
    from engine.db.database import Row, Store

    from .recording import Recording

_NAMES = "select name from _function_tools order by name"
_CALLS = """
    select
        c.action, c.path, c.destination, coalesce(b.body, c.body) as body, c.outcome, c.message, p.kind, p.target,
        coalesce(f.detail, p.detail) as detail, p.id is not null as ask, f.kind as performed
    from commands as c
    left join _command_bodies as b on b.command_id = c.id
    left join proposals as p on p.command_id = c.id
    left join effects as f on f.command_id = c.id
    where c.turn_id is not null and c.action in (select name from _function_tools)
        and c.run_id in (select run_id from tree_runs where top = :top)
    order by c.id
"""
_OWN = ("tool", "arguments", "call", "command", "idempotent", "request_id")
"""What every call has; the rest is what a server's tool tells about itself."""


class RecordedTools(AppTools):
    """The tools of `recording`: a call is read as it was read then, and nothing is called."""

    def __init__(self, recording: Recording, top: str) -> None:
        super().__init__(())
        self._recording = recording
        self._names: list[str] = []
        self._calls: defaultdict[tuple[str, ...], deque[str]] = defaultdict(deque)
        if recording.db.value("select 1 from sqlite_schema where name = '_function_tools'"):
            self._names = [name for (name,) in recording.db.tuples(_NAMES)]
            for row in recording.db.rows(_CALLS, {"top": top}):
                command = (row["action"], row["path"], row["destination"], row["body"])
                self._calls[_key(*command)].append(json.dumps(_reading_of(row)))

    def __bool__(self) -> bool:
        return bool(self._names)

    def offer(self, db: Store, run: str, lease: str) -> None:
        """Tell models of the tools that the first recorded packet names, of all where there is none."""
        told = self._recording.told_tools(run)
        offered = [{"name": name} for name in self._names if name in told or not told]
        if offered:
            db.insert("_offer_tools", run=run, lease=lease, tools=json.dumps(offered))

    def _reading(self, *given: Any) -> str | None:
        """A command as the call that was recorded of it; None if its tool is another's."""
        _, action, path, destination, body, _ = given
        if action not in self._names:
            return None
        calls = self._calls[_key(action, path, destination, body)]
        if not calls:
            return json.dumps({"fault": "error: this call is not in the record."})
        return calls.popleft() if len(calls) > 1 else calls[0]


def _key(*command: Any) -> tuple[str, ...]:
    return tuple(str(each or "") for each in command)


def _reading_of(row: Row) -> dict[str, Any]:
    """A recorded command as `_call_function` takes it."""
    if row["detail"] is None:
        return {"fault": f"{row['outcome']}: {row['message']}"}
    detail = json.loads(row["detail"])
    return {
        "arguments": detail.get("arguments"),
        "call": detail.get("call"),
        "idempotent": detail.get("idempotent"),
        "ask": row["ask"],
        "kind": row["performed"] or row["kind"],
        "target": row["target"],
        "shown": detail.get("command"),
        "about": {name: value for name, value in detail.items() if name not in _OWN},
    }
