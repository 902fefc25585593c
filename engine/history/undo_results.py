"""What an undo and a rewind say of themselves."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TypedDict


class FileChange(TypedDict):
    """What an undo or a rewind does to a file: `change` is changed, removed or brought back, `diff` a unified diff.

    `executable` is whether it may be executed then, None where that stays as it is. `child` names the runs below that
    changed it, None where only the run itself did.

    Where the file is not touched, `stays` says why, and `since` is the diff of what has become of it since; else None.
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
    """What an undo or a rewind did, or would do.

    `status` is 200; 403, 409 and the like where a file could not be written (`message` says which); 102 where the driver of
    the run is to do it. Of a plan it is 100, or 409 where a file stands in the way.

    `edits` says what is taken back, a text each. `old` is the name of the run as it was before a rewind. `plan` is what
    `undo` and `rewind` take to do just this and nothing else.
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
