"""The projects of a server: folders at or below its own, each with the file that `engine run` would take there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import NotFound, PermissionDenied
from engine.functions.terminals import Terminal
from engine.project.workspace import Workspace

from .hub import Hub
from .params import Param, option_params

if TYPE_CHECKING:
    from engine.api.database import Database

Opener = Callable[[Path], "Database"]
"""Opens the file of a folder for writing, as `engine run` does."""


@dataclass(frozen=True)
class Project:
    """A folder whose runs are in the file of `hub`; `options` are those that a run of it may be given.

    `claimant` is the token of the client that works in it, for what it carries out itself; `terminals` make of the output of
    these commands what a terminal shows, by run, path and channel.
    """

    root: Path
    name: str | None
    hub: Hub
    options: tuple[Param, ...]
    claimant: str = ""
    terminals: dict[tuple[str, str, int], Terminal] = field(default_factory=dict)


class Projects:
    """Opens the file of each folder once; clients of one file share it."""

    def __init__(self, open_database: Opener, top: Path) -> None:
        self._open = open_database
        self.top = top.resolve()
        """The folder of the server: no project lies outside of it."""
        self._hubs: dict[Path, Hub] = {}
        self._opening = asyncio.Lock()

    async def project(self, folder: str | None = None, name: str | None = None) -> Project:
        """The project in a folder, by default that of the server; a relative path is one below it.

        Raises `NotFound` (404) where there is no such folder, `PermissionDenied` (403) for one outside of the server's.
        """
        root = self._root(folder)
        async with self._opening:
            hub = self._hubs.get(root)
            if hub is None:
                hub = self._hubs[root] = await self._opened(root)
        return Project(root, name, hub, option_params(hub.db))

    async def close(self) -> None:
        """Stop driving and close all files."""
        for hub in {*self._hubs.values()}:
            await hub.close()

    def _root(self, folder: str | None) -> Path:
        if folder is not None and "\0" in folder:
            raise NotFound("projectRoot: a path must not contain a NUL")
        root = Workspace(self.top / folder if folder else self.top).root
        if not root.is_relative_to(self.top):
            raise PermissionDenied(
                f"projectRoot {folder!r}: lies outside of {str(self.top)!r}, the folder that this server serves; "
                "to serve another folder: engine serve rpc --root FOLDER"
            )
        return root

    async def _opened(self, root: Path) -> Hub:
        db = await asyncio.to_thread(self._open, root)
        place = db.place.resolve()
        for hub in self._hubs.values():
            if hub.db.place.resolve() == place:
                db.close()
                return hub
        return Hub(db)
