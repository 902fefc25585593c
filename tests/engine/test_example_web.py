"""The web app of tests/examples/web, over real HTTP: several users at once, approvals, streams that are taken up again.

spec: @async_contract @following
"""

from __future__ import annotations

import asyncio
import json
import runpy
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from audit import audit
from driving import DONE, GO_ON, script

import engine

EXAMPLE = Path(__file__).parent.parent / "examples" / "web" / "app.py"
create_app = runpy.run_path(str(EXAMPLE))["create_app"]

ADD = 'I add it.\n<set path="notes.md">{}\n</set>' + GO_ON


@contextmanager
def served(data: Path) -> Iterator[str]:
    """The address of the app, served by a server in a thread; it has stopped cleanly when this ends."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()  # who comes before the server is there waits for it
        config = uvicorn.Config(create_app(data), log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield "http://{}:{}".format(*bound.getsockname())
        finally:
            server.should_exit = True
            thread.join()
    for each in threading.enumerate():
        if each.name == "engine":
            each.join(300)
            assert not each.is_alive(), "nothing is driven any more"
    for path in data.glob("*/agent.db"):
        assert not path.with_name("agent.db-wal").exists(), "it was closed"
        audit(path)


@asynccontextmanager
async def browser(address: str, user: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client that has logged in."""
    async with httpx.AsyncClient(base_url=address, timeout=300, trust_env=False) as client:
        (await client.post("/login", json={"name": user})).raise_for_status()
        yield client


async def stream(client: httpx.AsyncClient, run: str, last: str | None = None) -> AsyncIterator[tuple[str, Any]]:
    """The server-sent events of a run as (id, data), until the last one."""
    headers = {} if last is None else {"Last-Event-ID": last}
    async with client.stream("GET", f"/runs/{run}/events", headers=headers) as response:
        assert response.status_code == 200
        fields: dict[str, str] = {}
        async for line in response.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields["event"] == "end":
                return
            else:
                yield fields["id"], json.loads(fields["data"])
                fields = {}


async def start(client: httpx.AsyncClient, prompt: str, run: str | None = None) -> str:
    response = await client.post("/runs", json={"prompt": prompt, "run": run})
    assert response.status_code == 202, response.text
    return str(response.json()["run"])


async def decide(client: httpx.AsyncClient, run: str, **decision: Any) -> None:
    (await client.post(f"/runs/{run}/decisions", json=decision)).raise_for_status()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the app; its model adds a line, which has to be allowed, and tries again where it is told why not."""
    monkeypatch.setenv("ENGINE_MODEL", script(tmp_path, ADD.format("one"), ADD.format("two"), DONE))
    return tmp_path / "data"


def test_users_decide_each_for_himself_and_see_nobody_else(data: Path) -> None:
    async def one(address: str, user: str) -> list[str]:
        async with browser(address, user) as client:
            run = await start(client, f"{user} asks")
            seen, decisions = [], [(True, None), (False, "not this one")]
            async for _, event in stream(client, run):
                seen.append(event["type"])
                if event["type"] == "proposal":
                    (proposal,) = (await client.get("/proposals")).json()
                    assert proposal["run"] == run
                    accept, reason = decisions.pop(0)
                    await decide(client, run, path=proposal["path"], accept=accept, reason=reason)
            assert [each["run"] for each in (await client.get("/runs")).json()] == [run]
            return seen

    async def go(address: str, users: list[str]) -> list[list[str]]:
        return await asyncio.gather(*(one(address, user) for user in users))

    users = ["ada", "ben", "eve"]
    with served(data) as address:
        for seen in asyncio.run(go(address, users)):
            assert [kind for kind in seen if kind != "text"].count("proposal") == 2
            assert seen[-1] == "loop"
    for user in users:
        assert (data / user / "files" / "notes.md").read_text() == "one\n"
        with engine.open(data / user / "agent.db", read_only=True) as db:
            assert db.sql("select decision, decided_by, reason from decisions order by decided_at") == [
                {"decision": "accept", "decided_by": user, "reason": None},
                {"decision": "reject", "decided_by": user, "reason": "not this one"},
            ]
            assert db.sql("select prompt from loop_list") == [{"prompt": f"{user} asks"}]


def test_a_stream_that_breaks_off_is_taken_up_where_it_was(data: Path) -> None:
    async def go(address: str) -> None:
        async with browser(address, "ada") as client:
            run = await start(client, "Go")
            seen: list[tuple[str, str]] = []
            for _ in range(50):  # a client that loses its connection after each event
                async for identity, event in stream(client, run, seen[-1][0] if seen else None):
                    if event["type"] != "text":  # prose that is still arriving is told anew, from its beginning
                        seen.append((identity, event["type"]))
                        break
                else:
                    break
                if event["type"] == "proposal":
                    await decide(client, run, path=event["path"], accept=True)
            told = [(identity, event["type"]) async for identity, event in stream(client, run)]
            whole = [each for each in told if each[1] != "text"]
            assert seen == whole
            assert len(whole) > 8

    with served(data) as address:
        asyncio.run(go(address))


def test_a_server_that_stops_leaves_runs_that_the_next_one_takes_up(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(address: str) -> str:
        async with browser(address, "ada") as client:
            return await start(client, "Go")

    async def see(address: str, run: str) -> Any:
        async with browser(address, "ada") as client:
            return [event async for _, event in stream(client, run)][-1]

    monkeypatch.setenv("ENGINE_MODEL", script(tmp_path, {"text": DONE, "delay_s": 600}))
    with served(data) as address:
        run = asyncio.run(ask(address))
    script_file = Path(str(engine_model(data / "ada" / "agent.db")).removeprefix("scripted:"))
    script_file.write_text(json.dumps(DONE) + "\n", encoding="utf-8")
    with served(data) as address:
        event = asyncio.run(see(address, run))
    assert (event["type"], event["status"]) == ("loop", 200)


def engine_model(path: Path) -> Any:
    with engine.open(path, read_only=True) as db:
        return db.value("select model from run_overview")


def test_wrong_requests_are_told_and_reach_no_other_user(data: Path) -> None:
    async def go(address: str) -> None:
        async with browser(address, "ada") as ada, browser(address, "eve") as eve:
            run = await start(ada, "Secret")
            other = await eve.get(f"/runs/{run}/events")
            assert (other.status_code, other.json()) == (
                404,
                {"error": f"run '{run}': there is no such run; see 'engine runs'"},
            )
            assert (await eve.post(f"/runs/{run}/abort")).status_code == 404
            assert (await eve.get("/proposals")).json() == []
            for name in ("../ada", "..", ".", "", "ada/", "a\0", "Ada", "a" * 33, "ada\n"):
                assert (await eve.post("/login", json={"name": name})).status_code == 400
                cookie = {"Cookie": f"user={name.strip()}"} if name.isprintable() else {}
                async with httpx.AsyncClient(base_url=address, trust_env=False, headers=cookie) as stranger:
                    if name.strip() != "ada":
                        assert (await stranger.get("/runs")).status_code == 401
            for body in (b"", b"[]", b'{"prompt": 7}', b'{"prompt": "x", "run": 7}', b"\xff", b'{"prompt": " "}'):
                assert (await ada.post("/runs", content=body)).status_code == 400
            assert "<script>" in (await ada.get("/")).text
            (await ada.post(f"/runs/{run}/abort")).raise_for_status()

    with served(data) as address:
        asyncio.run(go(address))
    assert sorted(path.name for path in data.iterdir()) == ["ada", "eve"]


def test_a_user_cannot_have_a_command_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def go(address: str) -> list[Any]:
        async with browser(address, "ada") as client:
            run = await start(client, "Go")
            return [event async for _, event in stream(client, run)]

    monkeypatch.setenv("ENGINE_MODEL", script(tmp_path, "<sh>ls ..</sh><env>ls ..</env>" + GO_ON, DONE))
    with served(data) as address:
        told = asyncio.run(go(address))
    assert [event["type"] for event in told if event["type"] == "proposal"] == []
    refusals = [event["outcome"] for event in told if event["type"] == "command" and event["action"] in ("sh", "env")]
    assert refusals
    assert set(refusals) <= {"permission", "aborted"}
