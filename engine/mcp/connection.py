"""One connection to one server: started, asked, and ended in the event loop of its `Clients`.

A task holds the connection open, so that any other can ask. One that has ended is started again by the next request; a
request that was under way is never made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError as InvalidAnswer

from engine.system import secrets

from .failures import CallTimeout, ServerFailed, failure, told
from .limits import LOG_CHARACTERS, MOST_ITEMS, MOST_PAGES, MOST_TOOLS
from .programs import Confine
from .servers import Log, Server
from .watching import Watch, watched

_T = TypeVar("_T")
_SETTLE_SECONDS = 6.0
_CLIENT = types.Implementation(name="engine", version="1")


class Connection:
    """A connection to `server`, for programs in `root`. `log` gets the lines of its log, `changed` is called when a list of
    the server is another one.
    """

    def __init__(
        self,
        server: Server,
        root: Path,
        confine: Confine,
        log: Callable[[Log], None],
        changed: Callable[[str], None],
    ) -> None:
        self.server = server
        self._root = root
        self._confine = confine
        self._log = log
        self._changed = changed
        self._client: Client | None = None
        self._watch = Watch(server, tell=log)
        self._task: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self._opening = asyncio.Lock()

    @property
    def client(self) -> Client | None:
        """The client of the SDK, while it is connected."""
        return self._client

    async def open(self) -> Client:
        """Connect, unless it is connected. Raises `EngineError` where that fails."""
        async with self._opening:
            if self._client is not None and not self._watch.over.is_set():
                return self._client
            await self._settle()
            _learn(self.server)
            self._watch, self._end = Watch(self.server, tell=self._log), asyncio.Event()
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(ready), name=f"MCP server {self.server.name}")
            try:
                return await asyncio.wait_for(asyncio.shield(ready), self.server.connect_timeout)
            except TimeoutError:
                await self.close()
                seconds = f"{self.server.connect_timeout:g}"
                raise CallTimeout(told(self._watch, f"it did not answer within {seconds} s of its start")) from None
            except asyncio.CancelledError:
                await self.close()
                raise

    async def close(self) -> None:
        """End the connection; its program has a moment, then it is killed."""
        self._end.set()
        task, self._task = self._task, None
        if task is not None:
            if self._client is None:
                task.cancel()
            await asyncio.wait([task], timeout=10.0)

    async def ask(self, work: Callable[[Client], Awaitable[_T]], seconds: float | None = None) -> _T:
        """What `work` gets of the server. Raises `CallTimeout` after `seconds`, `ServerFailed` for what it says is wrong."""
        client = await self.open()
        limit = self.server.timeout if seconds is None else seconds
        try:
            return await asyncio.wait_for(work(client), limit)
        except TimeoutError:
            raise CallTimeout(told(self._watch, f"no answer within {limit:g} s", with_output=False)) from None
        except (MCPError, InvalidAnswer) as error:
            if self._watch.over.is_set():
                await self._settle()  # how its program ended is known then
            raise failure(self._watch, error) from None

    async def tools(self) -> tuple[list[types.Tool], bool]:
        """The tools that it lists, and whether some were left out."""
        return await self._all(
            "tools", lambda client, at: client.list_tools(cursor=at, cache_mode="refresh"), MOST_TOOLS
        )

    async def resources(self) -> list[types.Resource]:
        """The resources that it lists."""
        found, _ = await self._all(
            "resources", lambda client, at: client.list_resources(cursor=at, cache_mode="refresh"), MOST_ITEMS
        )
        return found

    async def templates(self) -> list[types.ResourceTemplate]:
        """The templates of resources that it lists."""
        found, _ = await self._all(
            "resource_templates",
            lambda client, at: client.list_resource_templates(cursor=at, cache_mode="refresh"),
            MOST_ITEMS,
        )
        return found

    async def prompts(self) -> list[types.Prompt]:
        """The prompts that it lists."""
        found, _ = await self._all(
            "prompts", lambda client, at: client.list_prompts(cursor=at, cache_mode="refresh"), MOST_ITEMS
        )
        return found

    async def _all(
        self, kind: str, page: Callable[[Client, str | None], Awaitable[Any]], most: int
    ) -> tuple[list[Any], bool]:
        """The items of all pages; a server that never ends has those of the first ones."""
        client = await self.open()
        offered = client.server_capabilities
        if getattr(offered, kind.removeprefix("resource_").replace("templates", "resources"), None) is None:
            return [], False
        found: list[Any] = []
        cursor: str | None = None
        for number in range(1, MOST_PAGES + 1):
            at = cursor
            try:
                answer = await self.ask(lambda client, at=at: page(client, at), self.server.connect_timeout)  # type: ignore[misc]
            except ServerFailed:
                if kind == "resource_templates":  # many servers with resources know of no templates
                    return found, False
                raise
            found += getattr(answer, kind)
            if len(found) > most:
                return found[:most], True
            cursor = answer.next_cursor
            if cursor is None or (self.server.on_page is not None and not self.server.on_page(kind, number)):
                return found, False
        return found, True

    async def _settle(self) -> None:
        """Wait until a connection that has ended is taken down."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task], timeout=_SETTLE_SECONDS)

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        """Hold the connection open until it is to end, or ends by itself."""
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(
                    Client(
                        watched(self._transport(), self._watch),
                        client_info=_CLIENT,
                        log_level="info",
                        logging_callback=self._hear,
                        message_handler=self._notice,
                        cache=None,
                    )
                )
                self._client = client
                if not ready.done():
                    ready.set_result(client)
                await self._until_end(client)
        except asyncio.CancelledError:
            if not ready.done():
                ready.cancel()
            raise
        except BaseException as error:
            if not ready.done():
                ready.set_exception(failure(self._watch, error))
                ready.exception()  # who waited may have gone
        finally:
            self._client = None

    async def _until_end(self, client: Client) -> None:
        """Until it is to end or ends by itself; a server of the newest protocol is asked to tell what changes."""
        waits = [asyncio.create_task(self._end.wait()), asyncio.create_task(self._ended())]
        listening = asyncio.create_task(self._listen(client))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*waits, listening):
                task.cancel()
            await asyncio.gather(*waits, listening, return_exceptions=True)

    async def _ended(self) -> None:
        await self._watch.over.wait()

    async def _listen(self, client: Client) -> None:
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._changed(self.server.name)
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            return

    async def _hear(self, params: types.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else repr(params.data)
        self._log(Log(self.server.name, str(params.level), text[:LOG_CHARACTERS], params.logger))

    async def _notice(self, message: types.ServerNotification | Exception) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed(self.server.name)

    def _transport(self) -> Any:
        from .programs import program

        if self.server.url is None:
            return program(self.server, self._watch, self._root, self._confine)
        from .addresses import address

        return address(self.server, self._watch)


def _learn(server: Server) -> None:
    """Keep what is given to a server as a key out of messages and results."""
    for name, value in (*server.env.items(), *server.headers.items()):
        if secrets.is_secret(name.replace("-", "_"), value) or name.lower() == "authorization":
            secrets.learn(value.removeprefix("Bearer ").strip())
