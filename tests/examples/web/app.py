"""A web app in which each user has an agent: it works in the user's folder, streams what it does, and asks before it
changes a file.

    pip install -e '.[models]' starlette uvicorn   # in the folder of the engine's source
    ENGINE_MODEL=openai/MODEL python app.py        # then open http://127.0.0.1:8000 in a browser

Each user has a folder of the data folder, with an engine file and the files that the agent works on. One process serves
them all: a second one would be refused (409) each run that the first drives.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import engine

log = logging.getLogger(__name__)
PAGE = Path(__file__).with_name("page.html")
USER = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""A user's name is the name of a folder, so it holds nothing that means something in a path."""


class Desk:
    """What one user has: files, and a database of the runs that work on them."""

    def __init__(self, user: str, db: engine.Database, files: Path) -> None:
        self.user, self.db, self.files = user, db, files
        self._driving: set[asyncio.Task[None]] = set()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @classmethod
    async def open(cls, folder: Path) -> Desk:
        """Open what is in `folder`, and go on with the runs that were under way when the server stopped."""
        files = folder / "files"
        files.mkdir(parents=True, exist_ok=True)
        desk = cls(folder.name, await engine.open_async(folder / "agent.db"), files)
        # resumable_runs leaves out those that a killed server still seems to drive
        for row in desk.db.sql("select distinct run from open_prompts"):
            desk.drive(row["run"])
        return desk

    def drive(self, run: str) -> None:
        """Drive `run` in the background until it ends or waits; to be called after each prompt and each decision."""
        task = asyncio.create_task(self._drive(run))
        self._driving.add(task)
        task.add_done_callback(self._driving.discard)

    async def _drive(self, run: str) -> None:
        async with self._turns[run]:  # a decision may come while the driving that asked for it is still ending
            try:
                await self.db.resume_async(run)
            except engine.EngineError:
                log.exception("run %s in %s", run, self.files)

    async def close(self) -> None:
        """Stop driving and close the database; what was under way is resumed when it is opened again."""
        for task in self._driving:
            task.cancel()
        await asyncio.gather(*self._driving, return_exceptions=True)
        await self.db.close_async()


async def desk_of(request: Request) -> Desk:
    """The desk of the user who asks; there is no way to another one. Put your own login here: this believes the cookie."""
    user, state = request.cookies.get("user", ""), request.app.state
    if not USER.fullmatch(user):
        raise HTTPException(401, "log in first")
    async with state.opening:
        if user not in state.desks:
            state.desks[user] = await Desk.open(state.data / user)
    desk: Desk = state.desks[user]
    return desk


async def fields(request: Request, **kinds: Any) -> dict[str, Any]:
    """The fields of a JSON object, each of its kind."""
    try:
        given = await request.json()
    except ValueError:
        given = None
    if not isinstance(given, dict) or not all(isinstance(given.get(name), kind) for name, kind in kinds.items()):
        raise HTTPException(400, f"send a JSON object with {', '.join(kinds)}")
    return {name: given.get(name) for name in kinds}


async def login(request: Request) -> Response:
    """Remember the name of the user in a cookie."""
    name = (await fields(request, name=str))["name"]
    if not USER.fullmatch(name):
        raise HTTPException(400, "a name has up to 32 small letters, digits, _ and -")
    response = JSONResponse({"user": name})
    response.set_cookie("user", name, httponly=True, samesite="strict")
    return response


async def list_runs(request: Request) -> Response:
    """The user's runs, the newest first."""
    runs = await (await desk_of(request)).db.call_async(lambda db: db.runs(limit=50))
    return JSONResponse([{"run": run.run, "status": run.status, "answer": run.answer} for run in runs])


async def prompt(request: Request) -> Response:
    """Give a prompt to a new run, or to the one that is named, and drive it in the background."""
    desk = await desk_of(request)
    given = await fields(request, prompt=str, run=str | None)
    # a command could reach the files of other users: none is run
    run = await desk.db.call_async(lambda db: db.start(**given, root=desk.files, no_processes=True))
    desk.drive(run.run)
    return JSONResponse({"run": run.run}, 202)


async def events(request: Request) -> Response:
    """What a run does, as server-sent events; a client that comes back with Last-Event-ID misses nothing."""
    db, run = (await desk_of(request)).db, request.path_params["run"]
    last = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(last) if re.fullmatch("[0-9]{1,18}", last) else 0
    await db.call_async(lambda db: db.result(run))  # a 404 comes before the stream begins

    async def stream() -> AsyncIterator[str]:
        async for event in db.events_async(run, after=after):
            yield f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n"
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def proposals(request: Request) -> Response:
    """What waits for the user's decision."""
    return JSONResponse(await (await desk_of(request)).db.call_async(lambda db: db.proposals()))


async def decide(request: Request) -> Response:
    """Accept or reject a proposal, or answer a question, and drive the run on."""
    desk, run = await desk_of(request), request.path_params["run"]
    given = await fields(request, path=str, accept=bool, reason=str | None, body=str | None)
    await desk.db.call_async(lambda db: db.resolve(run, by=desk.user, **given))
    desk.drive(run)
    return JSONResponse({}, 202)


async def abort(request: Request) -> Response:
    """End the prompt that a run works on, or is about to begin; those in line behind it are driven."""
    desk, run = await desk_of(request), request.path_params["run"]

    def stop(db: engine.Database) -> None:
        with db.transaction():
            loop = db.value("select min(loop) from open_prompts where run = ?", (run,))
            db.abort(run, f"aborted by {desk.user}", loop=loop)

    await desk.db.call_async(stop)
    desk.drive(run)
    return JSONResponse({}, 202)


async def refused(request: Request, error: Exception) -> Response:
    """What the engine says of a wrong request, with its status."""
    assert isinstance(error, engine.EngineError)
    return JSONResponse({"error": error.message}, error.status)


def create_app(data: Path) -> Starlette:
    """The app, which keeps the folders of its users in `data`."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.data, app.state.desks, app.state.opening = data, {}, asyncio.Lock()
        yield
        await asyncio.gather(*(desk.close() for desk in app.state.desks.values()))

    routes = [
        Route("/", lambda request: FileResponse(PAGE)),
        Route("/login", login, methods=["POST"]),
        Route("/runs", list_runs),
        Route("/runs", prompt, methods=["POST"]),
        Route("/runs/{run}/events", events),
        Route("/runs/{run}/decisions", decide, methods=["POST"]),
        Route("/runs/{run}/abort", abort, methods=["POST"]),
        Route("/proposals", proposals),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={engine.EngineError: refused})


if __name__ == "__main__":
    # streams are open while their runs wait: a server that stops gives them two seconds
    uvicorn.run(create_app(Path("data")), timeout_graceful_shutdown=2)
