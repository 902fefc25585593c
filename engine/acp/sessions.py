"""Sessions: each is a run of a database, in the folder that the client names, with the mode and model that it has chosen."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.driving.model_choice import choose_model, sync_environment_models
from engine.errors import Conflict, EngineError, NotFound, Overflow, ValidationError

from .handles import Handles

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Options
    from engine.db.database import Row
    from engine.mcp.servers import Server
    from engine.serving import Serving

    from .prompting import Prompting

MOST_SESSIONS = 64
"""Sessions that are open at a time."""
MOST_WAITING = 16
"""Prompts of one session that may wait for the one before them."""
PAGE = 50
"""Sessions of one page of a list."""
MODES = {
    "ask": ("Ask", "Reads, and changes nothing."),
    "act": ("Act", "Changes files and runs commands after you allow each one."),
    "yolo": ("Yolo", "Changes files and runs commands without asking."),
}
_RUN = """
    select
        r.alias, p.root,
        (
            select case when l.config ->> '$.yolo' then 'yolo' else l.mode end
            from loops as l
            where l.run_id = r.id
            order by l.sequence desc
            limit 1
        ) as mode
    from runs as r
    join projects as p on p.id = r.project_id
    where r.alias = ?
"""
_LIST = """
    select
        r.id, r.alias, p.root,
        coalesce(r.title, (select l.prompt from loops as l where l.run_id = r.id order by l.sequence limit 1)) as title,
        strftime('%Y-%m-%dT%H:%M:%SZ', r.updated_at / 1000.0, 'unixepoch') as updated_at
    from runs as r
    join projects as p on p.id = r.project_id
    where r.role = 'main'
        and r.archived_at is null
        and p.root is not null
        and (:root is null or p.root = :root)
        and (:before is null or r.id < :before)
    order by r.id desc
    limit :limit
"""


@dataclass
class Session:
    """A run that a client talks to. It may not be there yet: its first prompt makes it."""

    database: Database
    run: str
    root: Path
    given: Options
    mode: str
    model: str | None = None
    """The model that the client has chosen; None: that of the run, or the one that a run gets."""
    effort: str | None = None
    """How hard it thinks, as the client has chosen; None: as before."""
    is_titled: bool = False
    commands: Any = None
    """What the client was told of its commands."""
    reads_files: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    prompts: list[Prompting] = field(default_factory=list)

    def options(self) -> Options:
        """The options of the next prompt."""
        chosen: Options = {"yolo": self.mode == "yolo", "mode": "ask" if self.mode == "ask" else "act"}
        return {**self.given, **chosen, **({"model": self.model} if self.model else {}), "effort": self.effort}

    def text_on_disk(self, target: str) -> str | None:
        """The text of a file of the project as it lies on the disk; None where it has none, or one that is not read."""
        from engine.project.workspace import Workspace

        try:
            most = int(self.database_value("select value from settings where name = 'file_max_bytes'"))
            return Workspace(self.root).read(target, most).text
        except EngineError:
            return None

    def database_value(self, query: str) -> Any:
        """One value of the database, from any thread."""
        with self.database.shared() as db:
            return db.value(query)


class Sessions:
    """The open sessions of a client. Its methods work in threads; one at a time."""

    def __init__(self, serving: Serving) -> None:
        self._open: dict[str, Session] = {}
        self._handles = Handles(serving, lambda: [each.database for each in self])
        self._start = "ask" if serving.options.get("mode") == "ask" else "act"
        model = serving.options.get("model")
        self._model = model if isinstance(model, str) else None
        self._given: Options = {**serving.options, "model": None}
        self.modes: Sequence[str] = [mode for mode in MODES if mode != "yolo" or serving.yolo]

    def __iter__(self) -> Any:
        return iter(tuple(self._open.values()))

    def find(self, number: str) -> Session:
        """The open session with this id; raises `NotFound` (404)."""
        if number not in self._open:
            raise NotFound(f"session {number[:100]!r}: is not open here; open it with session/load")
        return self._open[number]

    def new(self, cwd: str, servers: Sequence[Server] = ()) -> Session:
        """A session in the folder `cwd`, with the MCP servers of its client.

        Raises `ValidationError` (400) for a relative path, `NotFound` (404) for no folder or no model, `Overflow` (413) if
        too many sessions are open.
        """
        root = folder(cwd)
        self._expect_room()
        with self._handles.of(root, servers) as db:
            assert db is not None, "it is made"
            sync_environment_models(db)
            choose_model(db, None, self._model, root)
            made = Session(db, f"session-{secrets.token_hex(4)}", root, self._given, self._start, self._model)
            return self._keep(made)

    def load(self, cwd: str, number: str, servers: Sequence[Server] = ()) -> Session:
        """A session on the run of that name, whoever began it. Raises `NotFound` (404) if `cwd` has no such run."""
        root = folder(cwd)
        held = self._open.get(number)
        if held is None:
            self._expect_room()
        with self._handles.of(root, servers, make=False) as db:
            db, mode = self._found(db, number, root)
            if held is not None and held.database is not db:
                raise Conflict(
                    f"session {number!r}: is already open with another folder or other servers; close it first"
                )
            return held or self._keep(Session(db, number, root, self._given, mode, is_titled=True))

    def fork(self, cwd: str, number: str, servers: Sequence[Server] = ()) -> Session:
        """A session on a fork of that run, as it is now, with the MCP servers that are named for the fork.

        What `load` refuses is refused. The run itself need not be open, and is not opened.
        """
        from engine.driving import runs

        root = folder(cwd)
        self._expect_room()
        with self._handles.of(root, servers, make=False) as db:
            db, mode = self._found(db, number, root)
            child = runs.fork(db, number, f"{number[:150]}-fork-{secrets.token_hex(4)}")
            made = Session(db, child, root, self._given, mode, is_titled=True)
            if (parent := self._open.get(number)) is not None:
                made.mode, made.model, made.effort = parent.mode, parent.model, parent.effort
            return self._keep(made)

    def listed(self, cwd: str | None, cursor: str | None) -> tuple[list[Row], str | None]:
        """The runs of the folder `cwd` (None: of the database of the current one), the latest first, and the next cursor."""
        if cursor is not None and not (cursor.isdecimal() and len(cursor) < 19):
            raise ValidationError("cursor: not from this server; list from the start, without a cursor")
        root = None if cwd is None else folder(cwd)
        which = {"root": root and str(root), "before": cursor and int(cursor), "limit": PAGE + 1}
        with self._handles.of(root or Path.cwd(), make=False) as found:
            rows = [] if found is None else found.rows(_LIST, which)
        return rows[:PAGE], str(rows[PAGE - 1]["id"]) if len(rows) > PAGE else None

    def close(self, number: str) -> Session:
        """Forget an open session; its run stays. Servers that no other session has end with it."""
        found = self.find(number)
        del self._open[number]
        self._handles.close_unused()
        return found

    def close_all(self) -> None:
        """Close the databases; one that was made for sessions without a prompt is removed."""
        self._open.clear()
        self._handles.close_unused()

    def _found(self, db: Database | None, number: str, root: Path) -> tuple[Database, str]:
        """The database with the run of that name in the folder `root`, and the mode that it goes on in."""
        row = None if db is None else db.row(_RUN, (number,))
        if db is None or row is None:
            raise NotFound(
                f"session {number[:100]!r}: there is no such run in {str(root)[:200]!r}; session/list lists them"
            )
        if row["root"] is None or Path(row["root"]).resolve() != root:
            raise ValidationError(f"session {number!r}: works in {row['root'] or 'no folder'}, not in {root}")
        return db, row["mode"] if row["mode"] in self.modes else self._start

    def _expect_room(self) -> None:
        if len(self._open) >= MOST_SESSIONS:
            raise Overflow(f"{MOST_SESSIONS} sessions are open; close one first")

    def _keep(self, session: Session) -> Session:
        self._open[session.run] = session
        return session


def folder(cwd: str) -> Path:
    """A folder that a client names. Raises `ValidationError` (400) for a relative path, `NotFound` (404) for no folder."""
    from engine.project.workspace import Workspace

    if not cwd.startswith("/") or "\0" in cwd:
        raise ValidationError(f"cwd {cwd[:200]!r}: is not an absolute path")
    return Workspace(Path(cwd)).root
