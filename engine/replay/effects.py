"""Gives effects what came of them in the record: processes, pages, functions and tools of servers. Files are really written.

A replayed effect is the recorded one with its run, turn, place in the answer, and kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.effects.functions import keep_entries, keep_pictures
from engine.errors import EngineError
from engine.tools.results import Entry

if TYPE_CHECKING:
    from engine.db.database import Row

    from .answers import Answers
    from .folder import Folder
    from .recording import Recording

_PLACE = """
    select
        r.alias as run, t.sequence as turn, c.ordinal, c.action, c.path, c.body, f.kind,
        (select count(*) from effects as o where o.command_id = c.id and o.kind = f.kind and o.id < f.id) as place,
        not exists (
            select 1 from commands as n join effects as g on g.command_id = n.id and g.kind = 'process'
            where n.turn_id = t.id and n.ordinal > c.ordinal
        ) as is_last
    from effects as f
    join commands as c on c.id = f.command_id
    join runs as r on r.id = f.run_id
    left join turns as t on t.id = f.turn_id
    where f.id = ?
"""
_REAL = ("file_write", "file_delete", "find", "verify", "delegate", "workflow")
"""What is done in the scratch file and folder alone."""
_HIT = re.compile(r"^\* (\S+)(?: - (.*))?$", re.MULTILINE)
_NOT_RECORDED = "What would come of it is not recorded; engine replay --live runs commands in a sandbox."
Result = tuple[Mapping[str, Any], Sequence[tuple[int, str]]]


class Effects:
    """What came of the effects of `recording`. With `live` processes run, in the scratch folder and a sandbox."""

    def __init__(self, recording: Recording, folder: Folder, answers: Answers, *, live: bool) -> None:
        self._recording = recording
        self._folder = folder
        self._answers = answers
        self._live = live

    def result(self, effect: dict[str, Any], /) -> Result | None:
        """The recorded end of an effect; None where it is performed.

        A command that was not recorded fails. Raises `EngineError` (422) if the bytes of a picture are gone.
        """
        if effect["kind"] in _REAL or (self._live and effect["kind"] == "process"):
            return None
        if effect["kind"] in ("fetch", "search") and self._answered(effect):
            return None
        at = self._recording.db.row(_PLACE, (effect["effect_id"],))
        assert at is not None, "an effect has its command"
        found = self._recorded(at)
        if found is None or found["state"] is None:
            return {"state": "failed", "outcome": "error", "message": _NOT_RECORDED}, ()
        if (
            found["state"] == "cancelled"
            and self._answers.parted is None
            and self._recording.aborted(at["run"], at["turn"])
        ):
            raise self._answers.stop_at(at["run"], at["turn"])
        if effect["kind"] == "process":
            self._bring_files(at, effect)
        columns = {key: found[key] for key in ("state", "outcome", "message", "detail")}
        if effect["kind"] in ("fetch", "search"):
            columns["pages"] = json.dumps(self._pages(at, found))
        elif effect["kind"] in ("function", "mcp") and found["state"] == "resolved":
            self._bring_entries(at, effect)
        return columns, found["output"]

    def begins(self, run: str, /) -> None:
        """Wait until what came before the first packet of a run has come."""
        self._answers.await_moment(run, None, "packet")

    def searched(self, run: str, /) -> bool:
        """Whether the first packet of the run tells of the tool search."""
        return "search" in self._recording.told_tools(run)

    def _recorded(self, at: Row) -> Row | None:
        """The recorded effect; where the paths have parted, one that is of the same command."""
        place = {name: at[name] for name in ("turn", "ordinal", "kind", "place")}
        found = self._recording.effect(at["run"], place)
        if found is None or self._answers.parted is None:
            return found
        same = (at["action"], at["path"] or "", at["body"] or "")
        return found if (found["action"], found["path"] or "", found["body"] or "") == same else None

    def _answered(self, effect: dict[str, Any]) -> bool:
        """Whether the file itself has the answer, such as a page that need not be read again."""
        db = self._recording.db
        asked = "select answer from _web_requests where effect_id = ?"
        return db.has("web") and db.value(asked, (effect["effect_id"],)) is not None

    def _bring_files(self, at: Row, effect: dict[str, Any]) -> None:
        """Make the changes that the last command of a turn has left; of one turn they are found together."""
        turns = self._recording.turns(at["run"])
        following = next((number for number in turns if number > at["turn"]), None)
        if not at["is_last"] or effect["root"] is None or following is None:
            return
        now, then = (self._recording.turn(at["run"], number) for number in (at["turn"], following))
        if now and then and now.seen_at is not None and then.seen_at is not None:
            self._folder.bring_found(now.seen_at, then.seen_at)

    def _pages(self, at: Row, found: Row) -> list[dict[str, Any]]:
        """What the web brought, as the effect told it."""
        brought = {row["path"]: row for row in self._recording.brought(at["run"], at["turn"])}
        if at["kind"] == "search":
            hits = _HIT.findall(found["told"] or "")
            return [
                {
                    "path": path,
                    "body": (brought.get(path) or {}).get("body") or "",
                    "attributes": {"title": title or None},
                }
                for path, title in hits
            ]
        if (page := brought.get(at["path"])) is None:
            return [{"path": at["path"], "body": None, "attributes": {}}] if found["state"] == "resolved" else []
        attributes = json.loads(page["attributes"] or "{}")
        kept = {name: value for name, value in attributes.items() if name not in ("stub", "fetched_at")}
        return [{"path": at["path"], "body": page["body"], "attributes": kept}]

    def _bring_entries(self, at: Row, effect: dict[str, Any]) -> None:
        """Write the entries that a function brought."""
        entries = []
        for row in self._recording.brought(at["run"], at["turn"]):
            attributes = json.loads(row["attributes"] or "{}")
            if "sha256" in attributes and "picture" in attributes:
                self._bring_picture(at, effect, row["path"], attributes["sha256"])
            elif not {"stub", "fetched_at"} & attributes.keys():
                entries.append(Entry(row["path"], row["body"] or "", row["visibility"]))
        keep_entries(self._recording.db, effect, entries)

    def _bring_picture(self, at: Row, effect: dict[str, Any], path: str, sha256: str) -> None:
        """Store a picture that a tool brought, from the bytes that the file keeps of it."""
        body = self._recording.db.value("select body from pictures where sha256 = ?", (sha256,))
        if body is None:
            raise EngineError(
                f"run {self._recording.run}: cannot be replayed: the picture that a tool of turn {at['turn']} brought is "
                "not in the file any more",
                422,
            )
        keep_pictures(self._recording.db, effect, {path: body})
