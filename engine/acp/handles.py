"""The handles on databases that sessions share: opened for a request, and closed when no session uses them.

spec: @acp_servers
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.mcp.servers import Server
    from engine.serving import Serving

_Key = tuple[Path, str]


class Handles:
    """Servers belong to a handle, so sessions of one folder with the same servers share one. Used by one thread at a time.

    `in_use` tells which handles sessions have.
    """

    def __init__(self, serving: Serving, in_use: Callable[[], Collection[Database]]) -> None:
        self._serving = serving
        self._in_use = in_use
        self._current: dict[_Key, Database] = {}
        self._opened: dict[Database, _Key] = {}
        """All that are open; some were replaced, because another file has the name of theirs by now."""

    @contextmanager
    def of(self, root: Path, servers: Sequence[Server] = (), *, make: bool = True) -> Iterator[Database | None]:
        """The handle of a folder with these servers, for one request: what no session uses after it is closed.

        None if there is no file, and none is to be made.
        """
        from engine.system.locate import database_to_write

        path = database_to_write(self._serving.db, root)
        key = path, _told_apart(servers)
        try:
            yield self._open(key, root, servers) if make or path.exists() else None
        finally:
            self.close_unused(spare=(path, ""))

    def close_unused(self, spare: _Key | None = None) -> None:
        """Close the handles that no session uses, except the one of `spare`, which the next request is likely to need."""
        used = {id(each) for each in self._in_use()}
        kept = self._current.get(spare) if spare else None
        for db, key in list(self._opened.items()):
            if id(db) not in used and db is not kept:
                self._close(db, key)

    def _open(self, key: _Key, root: Path, servers: Sequence[Server]) -> Database:
        db = self._current.get(key)
        if db is None or db.moved():
            db = self._current[key] = self._serving.open(root, servers)
            self._opened[db] = key
        return db

    def _close(self, db: Database, key: _Key) -> None:
        del self._opened[db]
        if self._current.get(key) is db:
            del self._current[key]
        for other, (path, _) in self._opened.items():
            if path == key[0] and other.new_file is None:
                # a file that nobody has used is removed by whoever closes it last
                other.new_file = db.new_file
        db.close_or_remove()


def _told_apart(servers: Sequence[Server]) -> str:
    """What tells handles on one file apart by their servers; '' without any."""
    return repr([(each, dict(each.env), dict(each.headers)) for each in servers]) if servers else ""
