"""What an undo and a rewind say of themselves."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TypedDict


class FileChange(TypedDict):
    """The change of a file by an undo or a rewind: `change` is changed, removed or brought back, `diff` a unified diff.

    `executable` says whether the file is executable afterwards (None: not changed). `child` has the names of the child
    runs that changed the file (None: only the run itself). If the file is not touched, `stays` says why, and `since`
    is the diff of later changes; else both are None.
    """

    path: str
    change: str
    diff: str | None
    stays: str | None
    since: str | None
    executable: bool | None
    child: str | None


@dataclass(frozen=True)
class Undone:
    """The result of an undo or a rewind, or of a dry run of it.

    `status` is 200; 403, 409 or similar if a file could not be written (`message` says which); 102 if another process
    that works on the run will do it. For a dry run it is 100, or 409 if a file cannot be restored.

    `edits` has a text for each edit that is taken back. `old` is the name under which a rewind keeps the old run. Give
    `plan` to `undo` or `rewind` to do exactly this and nothing else.
    """

    run: str
    status: int
    edits: list[str]
    files: list[FileChange]
    message: str = ""
    old: str | None = None
    plan: str | None = None

    def to_json(self) -> str:
        """The result as JSON, for programs."""
        return json.dumps(asdict(self), ensure_ascii=False)
