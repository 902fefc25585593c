"""The MCP servers of a run while it is driven: what they list is offered before its first turn, and looked at between
turns. One whose lists are kept is started by the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from engine.effects.confinement import confinements
from engine.functions.counts import counted

if TYPE_CHECKING:
    from engine.handle import Handle
    from engine.mcp.clients import Clients
    from engine.mcp.servers import Server
    from engine.mcp.tool_servers import Servers
    from engine.sandbox import Confined

    from .lease import Lease
    from .progress import Progress

    Confine = Callable[[Server], AbstractContextManager[Confined | None]]

_ROOT = "select p.root from runs as r join projects as p on p.id = r.project_id where r.alias = ?"


class RunServers:
    """The servers of the handle `db`, as the driver of `run` uses them. Without servers nothing here does anything."""

    def __init__(self, db: Handle, run: str, lease: Lease, progress: Progress) -> None:
        self._db = db
        self._run = run
        self._lease = lease
        self._progress = progress
        self._told: set[str] = set()
        self._version = -1

    def connect(self) -> None:
        """Connect to the servers that are not connected yet, and offer what they have. Nobody waits for one that fails."""
        servers = self._servers
        if servers is None:
            return
        clients = servers.clients
        root = self._db.value(_ROOT, (self._run,))
        if clients.root is None:
            clients.root = None if root is None else Path(root)
            if any(server.sandbox for server in clients.servers.values()):
                clients.confine = confining(self._db, clients.root)
        tried = clients.connect(stopped=self._lease.stopped.is_set, waiting=self._progress.connecting, lazily=True)
        with self._db.transaction():
            for name in tried:
                self._tell(name, *_state(clients, name))
            self._offer(servers)

    def look(self) -> None:
        """Offer what has changed since the last turn, and record what servers have said."""
        servers = self._servers
        if servers is None:
            return
        if servers.clients.has_changed:
            servers.clients.refresh(self._lease.stopped)
        if servers.clients.version != self._version:
            with self._db.transaction():
                for name in servers.clients.started():
                    self._tell(name, *_state(servers.clients, name))
                self._offer(servers)
        logs = servers.clients.logs
        if logs:
            with self._db.transaction():
                for _ in range(len(logs)):
                    log = logs.popleft()
                    self._tell(log.server, log.level, log.text)

    def _offer(self, servers: Servers) -> None:
        self._version = servers.clients.version
        given = self._db.app_tools
        taken = given.functions if given else ()
        self._told = servers.tell(self._db, self._run, self._lease.token, self._told, taken)

    def _tell(self, server: str, level: str, text: str) -> None:
        from engine.models.protocol import storable
        from engine.system.secrets import scrubbed

        words = storable(scrubbed(text))
        self._db.insert("_tell_server", run=self._run, lease=self._lease.token, server=server, level=level, text=words)

    @property
    def _servers(self) -> Servers | None:
        given = self._db.app_tools
        return cast("Servers | None", given.servers) if given else None


def _state(clients: Clients, name: str) -> tuple[str, str]:
    offered = clients.offered.get(name)
    if offered is None:
        return "failed", clients.failures.get(name, f"MCP server {name}: was not connected")
    parts = [f"{counted(len(offered.tools), 'tool')}"]
    for kind, plural in (("resource", "resources"), ("prompt", "prompts")):
        if number := sum(item.kind == kind for item in offered.items):
            parts.append(f"{counted(number, kind, plural)}")
    changed = [tool.tool for tool in offered.tools if tool.is_changed]
    if changed:
        again = "is defined" if len(changed) == 1 else "are defined"
        parts.append(f"{', '.join(changed[:3])} {again} anew and asks: engine mcp confirm {name}")
    left_out = f"; left out: {offered.left_out}" if offered.left_out else ""
    return "connected", f"MCP server {name}: {', '.join(parts)}{left_out}"


def confining(db: Handle, root: Path | None) -> Confine:
    """What starts the programs of servers in the sandbox of commands, with the settings that `db` has now.

    It is called in another thread, later too; there it raises `SandboxMissing` (403) where there is no sandbox: a server
    that asks for one is not started without.
    """
    asked_of = confinements(db)

    @contextmanager
    def confined(server: Server) -> Iterator[Confined | None]:
        from engine import sandbox

        found, reason = sandbox.find("require")
        if found is None or root is None:
            why = reason or "its run has no folder"
            raise sandbox.SandboxMissing(f"it needs a sandbox, and none is available ({why})")
        with found.confine(asked_of(root, server.network)) as made:
            yield made

    return confined
