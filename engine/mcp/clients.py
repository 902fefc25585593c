"""The servers of a database handle: one client for each, all in one event loop in a thread of its own.

Nothing is started before a run is driven or somebody asks. `connect` starts all at once; one that fails hinders no other.
What the servers offer is kept here, as models are told of it, until a server says that its list has changed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engine.errors import Conflict, EngineError, NotFound, ValidationError
from engine.system.loops import serve

from .limits import LOG_LINES
from .servers import Log, Server

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mcp import Client
    from mcp_types import CallToolResult

    from engine.mcp.offers import Offered
    from engine.sandbox import Confined

    from .connection import Connection

_T = TypeVar("_T")
_TICK_SECONDS = 0.1
_CLOSE_SECONDS = 12.0
_RETRY_SECONDS = 60.0
_LIST_SECONDS = 60.0
"""All lists of one server, besides its start."""


class Clients:
    """The clients of `servers`; programs work in `root` unless their server names a folder. `broken` says of some that
    somebody named why they cannot be used. Any thread may use it.

    Raises `ValidationError` (400) for two servers of one name.
    """

    def __init__(
        self, servers: Iterable[Server], root: Path | None = None, broken: Mapping[str, str] | None = None
    ) -> None:
        self.servers: dict[str, Server] = {}
        for server in servers:
            # their tools would have the same names
            if any(each.replace("-", "_") == server.name.replace("-", "_") for each in self.servers):
                raise ValidationError(f"MCP server {server.name}: two servers have this name; rename one")
            self.servers[server.name] = server
        self.root = root
        self.confine: Callable[[Server], AbstractContextManager[Confined | None]] = lambda _: nullcontext()
        self.offered: dict[str, Offered] = {}
        """What each server that is connected offers."""
        self.failures: dict[str, str] = dict(broken or {})
        """Why servers are not connected, a line each."""
        self._untold = [*self.failures]
        self._failed_at: dict[str, float] = {}
        self._unstarted: set[str] = set()
        """Those in `offered` whose lists are those of an earlier process."""
        self.version = 0
        """Goes up whenever what is offered is something else."""
        self.logs: deque[Log] = deque(maxlen=LOG_LINES)
        self._connections: dict[str, Connection] = {}
        self._changed: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._connecting = threading.Lock()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self.servers or self.failures)

    def connect(
        self,
        names: Sequence[str] | None = None,
        *,
        stopped: Callable[[], bool] = lambda: False,
        waiting: Callable[[list[str]], None] | None = None,
        lazily: bool = False,
    ) -> list[str]:
        """Start those servers that are not connected, all at once, and read their lists; afterwards each is in `offered` or
        in `failures`. With `lazily` a server of the configuration whose lists are kept is not started. Returns the names of
        those that were started now; one that has failed is tried again after a minute.

        Returns early where `stopped` says so. `waiting` gets the names of those that take longer than a second, once.
        """
        with self._connecting:
            now = time.monotonic()
            wanted = [
                name
                for name in (self.servers if names is None else names)
                if (name not in self.offered or (name in self._unstarted and not lazily))
                and now - self._failed_at.get(name, -_RETRY_SECONDS) >= _RETRY_SECONDS
            ]
            if lazily:
                wanted = [name for name in wanted if not self._take_kept(name)]
            tasks = {name: self._submit(self._list(name)) for name in wanted}
            if tasks:
                self._await_all(tasks, stopped, waiting)
            untold, self._untold = self._untold, []
            return [*untold, *(name for name in wanted if name in self.offered or name in self.failures)]

    def start(self, server: str, stopped: threading.Event | None = None) -> None:
        """Start a server of which only the lists that are kept are known, and read its lists. Raises `EngineError`."""
        with self._connecting:
            if server not in self._unstarted:
                return
            self.offered[server] = self.wait(self._list(server), stopped=stopped)
            self._unstarted.discard(server)
            self.failures.pop(server, None)
            self.version += 1
            self._untold.append(server)

    def started(self) -> list[str]:
        """The servers that were started since this was asked."""
        untold, self._untold = self._untold, []
        return untold

    def refresh(self, stopped: threading.Event) -> None:
        """Read the tools again of servers that said that theirs are others now; one that fails keeps those that it had."""
        with self._lock:
            names, self._changed = self._changed, set()
        for name in names & self.offered.keys():
            with suppress(EngineError):
                self.wait(self._list_again(name), _LIST_SECONDS, stopped)

    def ask(self, server: str, work: Callable[[Client], Awaitable[_T]], stopped: threading.Event | None = None) -> _T:
        """What `work` gets of the client of a server. Raises `EngineError`; `Conflict` (409) where it is stopped."""
        self.start(server, stopped)
        return self.wait(self._connection(server).ask(work), stopped=stopped)

    async def request(self, server: str, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """The result of a tool, in the event loop of the servers."""
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        # not by Client.call_tool: what a server says of its output is a stranger's schema, and is not run
        asked = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
        return await self._connection(server).ask(lambda client: client.session.send_request(asked, CallToolResult))

    def wait(
        self, work: Coroutine[Any, Any, _T], seconds: float | None = None, stopped: threading.Event | None = None
    ) -> _T:
        """The result of `work`, which runs in the event loop of the servers. Raises `Conflict` (409) where it is stopped."""
        task = self._submit(work)
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                return task.result(_TICK_SECONDS)
            except NotYet:
                if task.done():
                    raise
                if (until is not None and time.monotonic() > until) or (stopped is not None and stopped.is_set()):
                    task.cancel()
                    raise Conflict("an MCP server was stopped, or took too long") from None

    def close(self) -> None:
        """End all connections and their programs. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return

        async def close_all() -> None:
            await asyncio.gather(*(each.close() for each in self._connections.values()), return_exceptions=True)

        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(close_all(), loop).result(_CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_SECONDS)
        self.offered.clear()
        self._connections.clear()

    def _await_all(
        self,
        tasks: dict[str, Future[Offered]],
        stopped: Callable[[], bool],
        waiting: Callable[[list[str]], None] | None,
    ) -> None:
        began = time.monotonic()
        while (slow := [name for name, task in tasks.items() if not task.done()]) and not stopped():
            with suppress(NotYet, Exception):
                tasks[slow[0]].result(_TICK_SECONDS)
            if waiting is not None and time.monotonic() - began > 1.0:
                waiting(slow)
                waiting = None
        for name, task in tasks.items():
            if task.done():
                self._take(name, task)
            else:
                task.cancel()

    def _take(self, name: str, task: Future[Offered]) -> None:
        try:
            self.offered[name] = task.result()
            self._unstarted.discard(name)
            self.failures.pop(name, None)
            self.version += 1
            self._failed_at.pop(name, None)
            return
        except EngineError as error:
            self.failures[name] = error.message
        except Exception as error:
            self.failures[name] = f"MCP server {name}: {type(error).__name__}: {error}"[:300]
        self._failed_at[name] = time.monotonic()

    async def _list(self, name: str) -> Offered:
        """Connect to a server and read its lists."""
        from .registry import expect_sdk

        expect_sdk()
        connection = self._connection(name)
        await connection.open()
        try:
            return await asyncio.wait_for(self._listed(connection), _LIST_SECONDS)
        except TimeoutError:
            await connection.close()
            raise EngineError(f"MCP server {name}: did not list its tools within {_LIST_SECONDS:g} s", 504) from None
        except BaseException:
            await connection.close()
            raise

    async def _list_again(self, name: str) -> None:
        self.offered[name] = await self._listed(self._connection(name))
        self.version += 1

    async def _listed(self, connection: Connection) -> Offered:
        """What a server that is connected offers; its lists are kept where it is one of the configuration."""
        from engine.mcp.lists import Lists
        from engine.mcp.offers import Offered

        server = connection.server
        lists = await Lists.read(connection)
        if server.pins is not None:
            lists.keep(server, self.root)
        return Offered.of(server, lists, self._calling(server.name), self.offered.get(server.name))

    def _take_kept(self, name: str) -> bool:
        """Whether the lists of a server are kept, which are offered then; the first call or reading starts it."""
        server = self.servers[name]
        if server.pins is None:
            return False
        from engine.mcp.lists import Lists
        from engine.mcp.offers import Offered

        lists = Lists.kept(server, self.root)
        if lists is None:
            return False
        self.offered[name] = Offered.of(server, lists, self._calling(name))
        self._unstarted.add(name)
        self.version += 1
        return True

    def _calling(self, name: str) -> Callable[[str, dict[str, Any]], Awaitable[Any]]:
        """What calls a tool of a server; it may be awaited in any event loop, and cancelling it cancels the request."""

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            from .results import call_result

            work = self.request(name, tool, arguments)
            return call_result(name, await asyncio.wrap_future(self._submit(work)))

        return call

    def _connection(self, name: str) -> Connection:
        from .connection import Connection

        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise NotFound(f"MCP server {name!r}: not found; the servers of this folder are {known}")
        with self._lock:
            if name not in self._connections:
                self._connections[name] = Connection(
                    self.servers[name],
                    self.root or Path.cwd(),
                    lambda server: self.confine(server),
                    self._log,
                    self._note,
                )
            return self._connections[name]

    def _log(self, log: Log) -> None:
        self.logs.append(log)
        hook = self.servers[log.server].on_log
        if hook is not None:
            with suppress(Exception):  # a log is worth no connection
                hook(log)

    def _note(self, name: str) -> None:
        with self._lock:
            self._changed.add(name)

    @property
    def has_changed(self) -> bool:
        """Whether a server said that its list is another one."""
        return bool(self._changed)

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        with self._lock:
            if self._closed:
                work.close()
                raise Conflict("the MCP servers of this handle were closed; open the file again")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=serve, args=(self._loop,), name="engine mcp", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)
