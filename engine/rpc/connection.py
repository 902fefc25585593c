"""One client: reads its requests, carries them out in their order, and tells it what happens meanwhile."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed

from engine.errors import EngineError, ValidationError

from . import messages
from .messages import Request, RpcError
from .methods import METHODS, NOTIFICATIONS, Method
from .outbox import Outbox
from .params import Param, checked

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

    from .projects import Project, Projects

_TOO_SLOW = 1013
_BY_NAME = {method.name: method for method in METHODS}
_INIT = (
    Param("name", "string", "a name for the project"),
    Param("projectRoot", "string", "its folder, at or below that of the server", required=True),
    Param("configPath", "string", "not taken: settings are read from the engine.toml of the folder"),
)


class Connection:
    """A client of `projects`. Requests are carried out one after the other, so a client need not wait for an answer
    before it asks for what builds on it.
    """

    def __init__(self, socket: ServerConnection, projects: Projects, version: str) -> None:
        self._socket = socket
        self._projects = projects
        self._version = version
        self._project: Project | None = None
        self._outbox = Outbox(socket)
        self._claimant = uuid.uuid4().hex
        self._own: dict[str, tuple[str, tuple[Param, ...], Callable[[dict[str, Any]], Awaitable[Any]]]] = {
            "ping": ("returns nothing; tests the connection", (), self._ping),
            "discover": ("the methods of this server, as an OpenRPC document", (), self._discover),
            "rpc.discover": ("the same, by OpenRPC's name", (), self._discover),
            "init": ("choose the folder to work in", _INIT, self._init),
        }

    @property
    def root(self) -> str | None:
        """The folder of its project; None where it has none yet."""
        return None if self._project is None else str(self._project.root)

    async def serve(self) -> None:
        """Serve the client until it is gone."""
        self.tell("engine/hello", {"version": self._version, "root": str(self._projects.top)})
        writing = asyncio.create_task(self._outbox.write())
        try:
            async for message in self._socket:
                if answers := await self._answered(message):
                    self._outbox.put(answers)
                    await self._outbox.room()
        except ConnectionClosed:
            pass
        finally:
            await self._leave()
            writing.cancel()

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification when the client can take it. One that does not read is disconnected: it asks again later."""
        state_of = params["run"] if method == "run/state" else None
        self._outbox.put(messages.notification(method, params), replaces=state_of)
        if self._outbox.is_overfull:
            if self._project is not None:
                self._project.hub.leave(self)
            self._closing = asyncio.create_task(self._socket.close(_TOO_SLOW, "does not read its messages"))

    async def _answered(self, message: str | bytes) -> dict[str, Any] | list[dict[str, Any]] | None:
        """The answer to a message; None where it asks for none."""
        try:
            requests, is_batch = messages.read_requests(message)
        except RpcError as error:
            return messages.failure(error)
        answers = [answer for each in requests if (answer := await self._answer(each))]
        if is_batch:
            return answers or None
        return answers[0] if answers else None

    async def _answer(self, request: Request | RpcError) -> dict[str, Any] | None:
        if isinstance(request, RpcError):
            return messages.failure(request)
        try:
            answer = messages.result_of(request, await self._carried_out(request))
        except RpcError as error:
            answer = messages.failure(error, request.id)
        except EngineError as error:
            answer = messages.failure(messages.error_of(error), request.id)
        except TypeError as error:  # an argument that the Python API does not take
            answer = messages.failure(messages.error_of(ValidationError(str(error))), request.id)
        except Exception as error:
            answer = messages.failure(messages.unforeseen(error, request.method[:100]), request.id)
        return None if request.is_told else answer

    async def _carried_out(self, request: Request) -> Any:
        if own := self._own.get(request.method):
            _, params, call = own
            return await call(checked(params, request.params))
        method = _BY_NAME.get(request.method)
        if method is None:
            raise RpcError(
                messages.METHOD_NOT_FOUND,
                f"method {request.method!r}: not found; 'discover' lists the methods",
            )
        project = await self._in_project()
        return await method.call(project, checked(method.params_in(project), request.params))

    async def _in_project(self) -> Project:
        if self._project is None:
            await self._enter(await self._projects.project())
        assert self._project is not None, "it has entered one"
        return self._project

    async def _enter(self, project: Project) -> None:
        await self._leave()
        self._project = replace(project, claimant=self._claimant)
        project.hub.enter(self)

    async def _leave(self) -> None:
        """Hear nothing of its project any more, and give back what it was to carry out there."""
        if self._project is not None:
            self._project.hub.leave(self)
            await self._project.hub.release(self._claimant)

    async def _ping(self, _: dict[str, Any]) -> dict[str, Any]:
        return {}

    async def _init(self, given: dict[str, Any]) -> dict[str, Any]:
        if "configPath" in given:
            raise ValidationError(
                "configPath: not supported, because settings come from engine.toml in the folder; leave out configPath"
            )
        await self._enter(await self._projects.project(given["projectRoot"], given.get("name")))
        assert self._project is not None, "it has entered one"
        return {"projectRoot": self.root, "database": str(self._project.hub.db.path)}

    async def _discover(self, _: dict[str, Any]) -> dict[str, Any]:
        project = await self._in_project()
        own = [
            Method(name, meaning, call=None, params=params)  # type: ignore[arg-type]
            for name, (meaning, params, _) in self._own.items()
        ]
        return {
            "openrpc": "1.3.2",
            "info": {"title": "engine", "version": self._version},
            "methods": [
                {
                    "name": method.name,
                    "summary": method.meaning,
                    "paramStructure": "by-name",
                    "params": [param.schema() for param in method.params_in(project)],
                    "result": {"name": "result", "schema": {}},
                }
                for method in (*own, *METHODS)
            ],
            "x-notifications": [{"name": name, "summary": meaning} for name, meaning in NOTIFICATIONS],
        }
