"""Commands as tool calls: what a client shows of each, while it waits, works and when it has ended.

All is read from the record, so that a call is shown alike while it happens and when its session is loaded again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acp import schema

from engine.acp.texts import cut, end_of, fenced, prose, text_content, title
from engine.display.escapes import drawn, drawn_diff
from engine.display.proposals import proposal_notes
from engine.functions.paths import path_readable, path_scheme

if TYPE_CHECKING:
    from engine.db.database import Row, Store

Content = schema.ContentToolCallContent | schema.FileEditToolCallContent | schema.TerminalToolCallContent
Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
Status = Literal["pending", "in_progress", "completed", "failed"]

CALLS = """
    select
        c.id as command_id, r.alias as run, c.log_path as path, c.action, c.path as target, c.destination, b.body, c.state,
        c.outcome, c.message, c.attributes,
        (
            select json_group_array(json_object(
                'kind', p.kind, 'target', p.target, 'action', p.action,
                'detail', coalesce(
                    p.detail ->> '$.diff', p.detail ->> '$.command', p.detail ->> '$.question', p.detail
                )
            ))
            from proposals as p
            where p.command_id = c.id
        ) as proposals,
        (select o.outputs from _command_outputs as o where o.command_id = c.id) as outputs,
        (
            select json_array(x.detail ->> '$.exit_code', x.detail ->> '$.duration_s')
            from effects as f
            join effect_results as x on x.effect_id = f.id
            where f.command_id = c.id and f.kind = 'process'
        ) as ended
    from commands as c
    join runs as r on r.id = c.run_id
    left join _command_bodies as b on b.command_id = c.id
"""
"""What is read of a command; a condition follows."""
_KINDS: dict[str, Kind] = {
    "get": "read",
    "set": "edit",
    "rm": "delete",
    "cp": "edit",
    "mv": "move",
    "sh": "execute",
    "env": "execute",
    "find": "search",
    "search": "search",
    "think": "think",
    "subtask": "think",
}
_STATUSES: dict[str, Status] = {
    "queued": "pending",
    "proposed": "pending",
    "accepting": "in_progress",
    "performing": "in_progress",
    "streaming": "in_progress",
    "resolved": "completed",
    "failed": "failed",
    "cancelled": "failed",
}
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MOST_EDITS = 100
"""Changes of one call that are shown, and characters of them."""
_MOST_CHANGED = 400_000


@dataclass(frozen=True)
class Edit:
    """A stretch of a file that changes: the first line of the new text, the text before (None: no file), and after."""

    line: int
    before: str | None
    after: str


def edits(diff: str) -> Iterator[Edit]:
    """The stretches of a unified diff of one file, with the lines around them."""
    lines = diff.split("\n")
    is_new = lines[0] == "--- /dev/null"
    at, before, after = 0, [""], [""]
    last: list[list[str]] = []
    for line in lines[2:]:
        if found := _HUNK.match(line):
            if at:
                yield Edit(at, None if is_new else "".join(before), "".join(after))
            at, before, after = max(int(found[1]), 1), [], []
        elif line.startswith("\\"):  # the line before it has no end
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
        elif at and line:
            last = {"-": [before], "+": [after]}.get(line[0], [before, after])
            for side in last:
                side.append(f"{line[1:]}\n")
    if at:
        yield Edit(at, None if is_new else "".join(before), "".join(after))


def call_of(db: Store, run: str, path: str) -> Row | None:
    """What is to be shown of the command of `run` whose record is `path`; None where there is none."""
    return db.row(f"{CALLS} where r.alias = ? and c.log_path = ? order by c.id desc limit 1", (run, path))


def call_id(row: Row, run: str) -> str:
    """The id of a call in the session of `run`: the path of its record, of a run below it with the name of that."""
    path = row["path"] or f"command/{row['command_id']}"
    return str(path) if row["run"] == run else f"{row['run']}/{path}"


def shown_call(row: Row, run: str, root: Path | None, status: Status | None = None) -> dict[str, Any]:
    """The fields of a tool call in the session of `run`, which works in `root`."""
    proposals = json.loads(row["proposals"] or "[]")
    url = str(row["target"] or "").partition("://")[0].lower() in ("http", "https")
    return {
        "tool_call_id": call_id(row, run),
        "title": ("" if row["run"] == run else f"{row['run']}: ") + _title(row),
        "kind": "fetch" if url and row["action"] == "get" else _KINDS.get(row["action"], "other"),
        "status": status or _STATUSES.get(row["state"], "in_progress"),
        "locations": list(_locations(row, proposals, root)) or None,
        "content": [*_changes(proposals, root), *_texts(row, proposals)] or None,
    }


def _title(row: Row) -> str:
    if row["action"] in ("sh", "env") and row["target"] is None:
        return title(row["body"] or row["action"])
    told = " → ".join(path_readable(each) for each in (row["target"], row["destination"]) if each)
    return title(f"{row['action']} {told or row['body'] or ''}".strip())


def _locations(row: Row, proposals: Sequence[Row], root: Path | None) -> Iterator[schema.ToolCallLocation]:
    lines = {each["target"]: first_line(each["detail"]) for each in proposals if each["kind"] == "file_write"}
    asked = json.loads(row["attributes"]).get("line")
    for target in dict.fromkeys([*lines, row["target"], row["destination"]]):
        if place := file_place(target, root):
            yield schema.ToolCallLocation(path=place, line=lines.get(target) or _number(asked))


def first_line(diff: str) -> int | None:
    """The line at which a diff begins to change a file, as the file is then."""
    found = _HUNK.search(diff)
    return max(int(found[1]), 1) if found else None


def _number(value: Any) -> int | None:
    text = str(value or "")
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) else None


def file_place(target: str | None, root: Path | None) -> str | None:
    """Where a file of the project lies; None for an entry, a pattern, or what would lie elsewhere."""
    if not target or root is None or path_scheme(target) or any(each in target for each in "*?[\0"):
        return None
    place = os.path.normpath(root / target)
    return place if place.startswith(f"{root}/") else None


def _changes(proposals: Sequence[Row], root: Path | None) -> Iterator[Content]:
    count = length = 0
    for each in proposals:
        place = file_place(each["target"], root)
        if place is None or each["kind"] not in ("file_write", "file_delete"):
            continue
        for edit in edits(each["detail"]):
            count, length = count + 1, length + len(edit.before or "") + len(edit.after)
            if count > _MOST_EDITS or length > _MOST_CHANGED:
                yield text_content("Not all changes are shown here; 'engine proposals' shows all.")
                return
            yield schema.FileEditToolCallContent(type="diff", path=place, old_text=edit.before, new_text=edit.after)


def _texts(row: Row, proposals: Sequence[Row]) -> Iterator[Content]:
    """What is to be read of a call: the whole command line, what a diff would not show, its outputs, what came of it."""
    for each in proposals:
        yield from _of_proposal(each)
    if row["action"] in ("sh", "env") and not proposals and row["body"]:
        yield text_content(fenced(cut(drawn(row["body"])), "sh"))
    for output in json.loads(row["outputs"] or "[]"):
        yield text_content(fenced(end_of(drawn(output["tail"]))))
    is_change = any(each["kind"] == "file_write" for each in proposals)
    code, seconds = json.loads(row["ended"] or "[null, null]")
    if code is not None:
        yield text_content(f"exit {code} after {seconds} s")
    elif row["message"] and row["state"] != "proposed" and (row["state"] != "resolved" or not is_change):
        yield text_content(cut(prose(row["message"])))
    elif row["body"] and not proposals and row["action"] == "set":
        yield text_content(cut(prose(row["body"])))


def _of_proposal(each: Row) -> Iterator[Content]:
    text = each["detail"] or ""
    if each["kind"] == "process":
        yield text_content(fenced(drawn(text), "sh"))
    elif each["kind"] == "file_write" and "\\u{" in (seen := "\n".join(drawn_diff(text))) and seen != text:
        told = "It contains invisible characters. With escapes for them, the change is:"
        yield text_content(f"{told}\n{fenced(cut(seen, 4 * len(text) + 1_000), 'diff')}")
    elif each["kind"] not in ("file_write", "file_delete"):
        yield text_content(cut(drawn(text)))
    for note in proposal_notes(each):
        yield text_content(note)
