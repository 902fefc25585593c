"""What an adapter is given, and gives back.

spec: @adapters
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .contract import Options

if TYPE_CHECKING:
    from engine.api.database import Database

    from .mcp.servers import Server


@dataclass(frozen=True)
class Serving:
    """What an adapter is given: `open` gives it databases, `options` are those of the runs that it starts.

    `db` is the file of all folders; None: each folder has its own. `yolo` says whether a client may have a run accept every
    proposal.
    """

    open_database: Callable[[Path, Sequence[Server]], Database]
    db: Path | None = None
    yolo: bool = False
    options: Options = field(default_factory=lambda: Options())

    def open(self, folder: Path | None = None, mcp: Sequence[Server] = ()) -> Database:
        """The database of `folder`, by default the current one, open for writing; found or made as `engine run` does it.

        Its runs may use the servers `mcp`, besides those of the user's configuration. Close it in the end. Raises an
        `EngineError` where it cannot be opened, `PermissionDenied` (403) for a file of somebody else that would act.
        """
        return self.open_database(folder or Path.cwd(), mcp)


Adapter = Callable[[Serving], None]
"""Serves until its clients are gone, or a signal ends it; called in the main thread of its process."""
