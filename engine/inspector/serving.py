"""The server of an inspector: pages that read, two forms that write, and what is told live.

spec: @inspector @inspector_access
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from engine.errors import Conflict, EngineError, PermissionDenied, ValidationError
from engine.system.installing import how_to_install

from .all_files import AllFiles
from .drawing import draw
from .files import Files
from .guard import Guard, secret
from .live import StampWatcher, Watcher, newest
from .pages import APART, PAGES
from .pages.query import download
from .places import ServedPlaces
from .writing import Opener, Shown, decide, digest, prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.api.database import Database

HOST = "127.0.0.1"
ASSETS = {"inspector.css": "text/css", "inspector.js": "text/javascript", "inspector.svg": "image/svg+xml"}
_WRITES: Mapping[str, Callable[[Database, Mapping[str, str]], Shown]] = {"decide": decide, "prompt": prompt}


class Inspector:
    """The app over some databases."""

    def __init__(self, paths: Sequence[Path], open_to_write: Opener, token: str) -> None:
        self.files = Files(paths)
        self._all_files = AllFiles(self.files)
        self.watchers = [Watcher(file) for file in self.files.all]
        self._stamps = StampWatcher(self.files)
        self._open_to_write = open_to_write
        self._form_token = secret(token, "form")
        self.app = Starlette(
            routes=[
                *(Route(f"/{name}", self._page, methods=["GET"], name=name or "home") for name in PAGES),
                Route("/text", self._text, methods=["GET"]),
                Route("/rows", self._rows, methods=["GET"]),
                Route("/events", self._events, methods=["GET"]),
                Route("/static/{name}", _asset, methods=["GET"]),
                *(Route(f"/{name}", self._write, methods=["POST"]) for name in _WRITES),
            ],
            exception_handlers={404: self._missing, 405: self._missing, EngineError: self._failed},
        )

    async def _page(self, request: Request) -> Response:
        return await run_in_threadpool(self._drawn, request)

    def _drawn(self, request: Request) -> Response:
        name, asked = request.url.path.strip("/"), dict(request.query_params)
        told = asked.pop("told", "")
        if name == "" and "db" not in asked and self._are_several:
            found = {**self._frame(None), "told": told, **self._all_files.page(asked)}
            return HTMLResponse(draw("all", ServedPlaces(), found))
        number = _number(asked.pop("db", "0"))

        def look(db: Database) -> dict[str, Any]:
            waiting = db.value("select count(*) from open_proposals")
            return {
                **self._frame(number),
                "after": newest(db),
                "waiting_count": waiting,
                "told": told,
                **PAGES[name](db, asked),
            }

        shown = self.files[number].look(look, apart=name in APART)
        return HTMLResponse(draw(name, self._places(number), shown))

    @property
    def _are_several(self) -> bool:
        return len(self.files.all) > 1

    def _places(self, number: int | None) -> ServedPlaces:
        return ServedPlaces(number if self._are_several else None)

    def _frame(self, number: int | None) -> dict[str, Any]:
        return {
            "databases": self.files.all,
            "database": None if number is None else self.files[number],
            "form_token": self._form_token,
            "digest": digest,
            "after": 0,
            "waiting_count": 0,
            "told": "",
        }

    async def _failed(self, request: Request, error: Exception) -> Response:
        """A page that says what went wrong, in the file that was asked for."""
        assert isinstance(error, EngineError)
        numbers = {str(file.number): file.number for file in self.files.all}
        number = numbers.get(request.query_params.get("db", ""), None if self._are_several else 0)
        shown = {**self._frame(number), "problem": error.message, "code": error.status}
        return HTMLResponse(draw("problem", self._places(number), shown), error.status)

    async def _missing(self, request: Request, error: Exception) -> Response:
        return await self._failed(request, EngineError("there is no such page", getattr(error, "status_code", 404)))

    async def _text(self, request: Request) -> Response:
        """A text of an entry, whole, as text."""
        return await run_in_threadpool(self._whole_text, request)

    def _whole_text(self, request: Request) -> Response:
        given = request.query_params
        number = _number(given.get("content", ""))
        file = self.files[_number(given.get("db", "0"))]
        body = file.look(lambda db: db.value("select body from contents where id = ?", (number,)))
        return Response(body or "", media_type="text/plain; charset=utf-8")

    async def _rows(self, request: Request) -> Response:
        """The rows of a statement, as a file to keep."""
        return await run_in_threadpool(self._downloaded, request)

    def _downloaded(self, request: Request) -> Response:
        given = request.query_params
        form = "json" if given.get("form") == "json" else "csv"
        file = self.files[_number(given.get("db", "0"))]
        body, kind = file.look(lambda db: download(db, given.get("q", ""), form), apart=True)
        return Response(body, media_type=kind, headers={"content-disposition": f"attachment; filename=rows.{form}"})

    async def _events(self, request: Request) -> Response:
        if "db" not in request.query_params and self._are_several:
            return StreamingResponse(self._stamps.listen(), media_type="text/event-stream")
        file = self.files[_number(request.query_params.get("db", "0"))]
        told = self.watchers[file.number].listen(_number(request.query_params.get("after", "0")))
        return StreamingResponse(told, media_type="text/event-stream")

    async def _write(self, request: Request) -> Response:
        form = await _form(request)
        return await run_in_threadpool(self._written, request.url.path.strip("/"), form)

    def _written(self, name: str, form: dict[str, str]) -> Response:
        number = _number(form.get("db", "0"))
        if not hmac.compare_digest(form.get("form_token", "").encode(), self._form_token.encode()):
            raise PermissionDenied("this form is from another inspector; load the page again")
        with self._open_to_write(self.files[number].path) as db:
            page, asked = _WRITES[name](db, form)
        return RedirectResponse(self._places(number).page(page, asked) or "/", 303)


def serve(paths: Sequence[Path], open_to_write: Opener, port: int, told: Callable[[str], None]) -> None:
    """Serve the databases on loopback until a signal; `told` gets the address once pages can come.

    Raises `Conflict` (409) where the port is taken.
    """
    token = secrets.token_urlsafe(24)
    with listening(port) as bound:
        number = bound.getsockname()[1]
        inspector = Inspector(paths, open_to_write, token)
        server = uvicorn.Server(config(inspector, token, number))
        told(f"http://{HOST}:{number}/?token={token}")
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises the signal again that has ended it
                server.run(sockets=[bound])
        finally:
            inspector.files.close()


def config(inspector: Inspector, token: str, port: int) -> uvicorn.Config:
    """How uvicorn serves it: without a log, without headers that name it, and streams end with it."""
    return uvicorn.Config(
        Guard(inspector.app, token, port), log_level="critical", access_log=False, timeout_graceful_shutdown=1,
        server_header=False, date_header=False, ws="none", lifespan="off",
    )  # fmt: skip


def listening(port: int) -> socket.socket:
    """A socket on loopback; who comes before the server is there waits for it."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise Conflict(f"port {port}: cannot be used: {error.strerror}; choose another with --port, or 0") from None
    bound.listen()
    return bound


def expect_extra() -> None:
    """Raise `EngineError` (500) where the extra inspector is not installed."""
    from importlib.util import find_spec

    if not all(find_spec(name) for name in ("starlette", "uvicorn", "markdown_it")):
        raise EngineError(f"engine web needs the extra inspector; run: {how_to_install('inspector')}")


async def _form(request: Request) -> dict[str, str]:
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        return Response(status_code=404)
    return Response(asset(name), media_type=ASSETS[name])


def asset(name: str) -> bytes:
    """A file that ships with the package."""
    from importlib.resources import files

    return files("engine.templates").joinpath("inspector", name).read_bytes()


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise ValidationError(f"{text[:40]!r} is not a number")
    return int(text)


__all__ = ["Inspector", "config", "expect_extra", "listening", "serve"]
