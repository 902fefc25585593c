"""The server: listens on an address or a Unix socket, lets in who has its token, and ends on a signal.

spec: @rpc @rpc_access
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
import secrets
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import serve as serve_address
from websockets.asyncio.server import unix_serve

import engine
from engine.errors import Conflict, ValidationError
from engine.system.locate import FOLDER, make_folder

from .connection import Connection
from .projects import Opener, Projects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

PORT = 3044
MOST_BYTES = 10_000_000
"""A longer message ends its connection."""
MOST_CLIENTS = 64
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s'\"]+")
_TOKEN_CHARS = 16
"""At least so many characters has a token that somebody chose."""


@dataclass(frozen=True)
class Place:
    """Where a server listens: `host` and `port` (0: any that is free), or the path of a Unix socket, which needs no token.

    `origins` are those of web pages that may connect, such as http://localhost:5173; no page may without one.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    socket: Path | None = None
    origins: Sequence[str] = ()


Told = Callable[[str, Path | None], None]
"""Gets the address of a server and the file that says its token, once clients can come."""


def serve(open_database: Opener, top: Path, place: Place, told: Told, token: str | None = None) -> None:
    """Serve the folder `top` and those below it until SIGINT, SIGTERM or SIGHUP.

    `token` is made where it is None. Raises `ValidationError` (400) for one that is short and for what is no origin,
    `Conflict` (409) where the address is taken, and what `open_database` raises for `top`.
    """
    if wrong := [origin for origin in place.origins if not _ORIGIN.fullmatch(origin)]:
        raise ValidationError(f"{wrong[0]!r} is not an origin; write for example http://localhost:5173")
    if token is not None and len(token) < _TOKEN_CHARS:
        raise ValidationError(f"the token of the server is too short; use at least {_TOKEN_CHARS} characters")
    asyncio.run(_serve(open_database, top, place, told, token or secrets.token_urlsafe(32)))


async def _serve(open_database: Opener, top: Path, place: Place, told: Told, token: str) -> None:
    projects = Projects(open_database, top)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await projects.project()
        async with _listening(projects, place, token) as url:
            said = None if place.socket else projects.top / FOLDER / "rpc.json"
            with nullcontext() if said is None else _told_in(said, url, token):
                told(url, said)
                await ended.wait()
    finally:
        await projects.close()


@asynccontextmanager
async def _listening(projects: Projects, place: Place, token: str) -> AsyncIterator[str]:
    """Serve clients while it lasts; gives the address."""
    clients: set[ServerConnection] = set()

    async def client(peer: ServerConnection) -> None:
        clients.add(peer)
        try:
            await Connection(peer, projects, engine.__version__).serve()
        finally:
            clients.discard(peer)

    def admit(peer: ServerConnection, request: Request) -> Response | None:
        if place.socket is None and not _has_token(request, token):
            how = "give the token: Authorization: Bearer TOKEN, or ?token=TOKEN"
            return peer.respond(HTTPStatus.UNAUTHORIZED, f"{how}\n")
        if len(clients) >= MOST_CLIENTS:
            return peer.respond(
                HTTPStatus.SERVICE_UNAVAILABLE, f"there are {MOST_CLIENTS} clients connected; no more are accepted\n"
            )
        return None

    server = await _bound(place, client, admit)
    try:
        yield _url(server, place)
    finally:
        server.close()
        await server.wait_closed()
        if place.socket is not None:
            place.socket.unlink(missing_ok=True)


async def _bound(place: Place, client: Any, admit: Any) -> Server:
    options: dict[str, Any] = {
        "process_request": admit,
        "origins": [None, *place.origins],
        "max_size": MOST_BYTES,
        "compression": None,
        "server_header": None,
    }
    try:
        if place.socket is None:
            return await serve_address(client, place.host, place.port, **options)
        _expect_nobody_at(place.socket)
        before = os.umask(0o177)
        try:
            return await unix_serve(client, str(place.socket), **options)
        finally:
            os.umask(before)
    except OSError as error:
        where = place.socket or f"{place.host}:{place.port}"
        raise Conflict(f"{where}: {error.strerror or error}; choose another address") from error


def _expect_nobody_at(path: Path) -> None:
    """Raise `Conflict` (409) where something is at `path` that is no socket, or one at which a server listens."""
    if not os.path.lexists(path):
        return
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as asking:
            try:
                asking.connect(str(path))
            except ConnectionRefusedError:
                return
    raise Conflict(f"{path}: already exists; choose another path for the socket")


def _has_token(request: Request, token: str) -> bool:
    given = [value.removeprefix("Bearer ") for value in request.headers.get_all("Authorization")]
    given += parse_qs(urlsplit(request.path).query).get("token", [])
    return any(hmac.compare_digest(each.encode(), token.encode()) for each in given)


def _url(server: Server, place: Place) -> str:
    if place.socket is not None:
        return f"ws+unix://{place.socket}"
    host, port = next(iter(server.sockets)).getsockname()[:2]
    return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"


@contextmanager
def _told_in(path: Path, url: str, token: str) -> Iterator[None]:
    """While it lasts, a file that only its user can read says where the server is, and the token."""
    make_folder(path)
    said = json.dumps({"url": url, "token": token, "pid": os.getpid()}) + "\n"
    descriptor, beside = tempfile.mkstemp(prefix="rpc-", dir=path.parent)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(said)
    os.replace(beside, path)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            if json.loads(path.read_text("utf-8")).get("pid") == os.getpid():  # else another server has taken its place
                path.unlink()
