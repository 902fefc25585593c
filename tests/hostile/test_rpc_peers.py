"""Who connects to `engine serve rpc` may send anything: each is answered in one line or shut out, and others go on.

1. No token, another web page. 2. Messages that are none. 3. Wrong values for every method. 4. Too much, and nobody who
reads. 5. Places outside, files of others.

spec: @rpc @rpc_access @rpc_methods
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import engine
from engine.rpc.hub import Hub
from engine.rpc.methods import METHODS
from engine.rpc.params import Param
from engine.rpc.projects import Projects
from engine.rpc.serving import Place, _listening

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

from engine_cli import database, engine_process, run_command
from rpc_client import Client, Server, served

TOKEN = "a-token-of-a-test"
WRONG: tuple[Any, ...] = (
    "",
    "\0",
    "\ud800",
    "x" * 100_000,
    "../..",
    -1,
    2**63,
    1e308,
    True,
    [],
    [1],
    {},
    {"a": {"b": 1}},
)
"""Values that some method may take and most may not."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("rpc") / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "out").symlink_to(folder.parent)
    with served(folder) as found:
        yield found


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as found:
        yield found


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", {}),
        ("?token=", {}),
        ("?token=wrong&token=%ff", {}),
        ("", {"Authorization": "Bearer "}),
        ("", {"Authorization": "Basic eDp5"}),
        ("", {"Authorization": "Bearer äöü"}),
    ],
)
def test_without_the_token_nobody_comes_in(server: Server, query: str, headers: dict[str, str]) -> None:
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(server.place["url"] + "/" + query, additional_headers=headers),
    ):
        pass
    assert refused.value.response.status_code == 401


def test_a_web_page_comes_in_only_where_its_origin_is_named(server: Server, tmp_path: Path) -> None:
    for origin in ("https://evil.example", "null", "http://localhost:5173", "http://127.0.0.1"):
        with pytest.raises(InvalidStatus) as refused, server.client(origin=origin):
            pass
        assert refused.value.response.status_code == 403
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder, "--port", "0", "--origin", "http://localhost:5173") as other:
        with other.client(origin="http://localhost:5173") as page:
            assert page.call("ping") == {}
        with pytest.raises(InvalidStatus), other.client(origin="http://localhost:5174"):
            pass
        with pytest.raises(InvalidStatus), connect(other.place["url"], origin="http://localhost:5173"):  # type: ignore[arg-type]
            pass


def test_the_token_is_told_to_its_user_alone_and_is_another_each_time(server: Server, tmp_path: Path) -> None:
    said = server.folder / ".engine" / "rpc.json"
    assert said.stat().st_mode & 0o777 == 0o600
    assert server.place["token"] not in server.said
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder, "--port", "0", ENGINE_RPC_TOKEN="chosen by a person") as other:
        assert other.place["token"] == "chosen by a person" != server.place["token"]
        with connect(f"{other.place['url']}/?token=chosen%20by%20a%20person") as socket:
            assert json.loads(socket.recv())["method"] == "engine/hello"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", -32700),
        ("nonsense", -32700),
        ("[" * 100_000, -32700),
        (b"\x00\xff", -32600),
        ("1", -32600),
        ("[]", -32600),
        ("{}", -32600),
        ('{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        ('{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": "a\\udfff", "method": "\\udfff"}', -32600),
        ('{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
        ('{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"\\ud800": 1}}', -32602),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": 1}}', -32602),
        ('{"jsonrpc": "2.0", "id": 1, "method": "__class__"}', -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "_init"}', -32601),
        (json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 101), -32600),
    ],
)
def test_a_message_that_is_none_is_answered_and_the_next_one_works(client: Client, message: Any, code: int) -> None:
    client.send(message)
    while (answer := client.receive()).get("method"):
        pass
    assert answer["error"]["code"] == code
    assert client.call("ping") == {}


def test_what_asks_for_no_answer_gets_none(client: Client) -> None:
    client.send('{"jsonrpc": "2.0", "method": "nope"}')
    client.send('[{"jsonrpc": "2.0", "method": "ping"}, {"jsonrpc": "2.0", "method": "getRun"}]')
    assert client.call("ping") == {}
    assert [each["method"] for each in client.told] == ["engine/hello"]


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
def test_a_wrong_value_is_refused_in_one_line(server: Server, method: Any) -> None:
    """Every param of every method with every wrong value, the other ones as they should be."""
    right = {
        "string": "known://x",
        "integer": 1,
        "number": 1,
        "boolean": True,
        "object": {"action": "accept"},
        "array": [],
    }
    with server.client() as client:
        for param in method.params:
            for value in WRONG:
                given = {each.name: right[each.type] for each in method.params if each.required} | {param.name: value}
                answer = client.ask(method.name, **given)
                if "error" in answer:
                    _expect_a_line(answer["error"], param, value)
        assert client.call("ping") == {}


def _expect_a_line(error: dict[str, Any], param: Param, value: Any) -> None:
    assert error["code"] in (-32602, -32000), (param.name, value, error)
    assert len(error["message"]) <= 2_001
    assert error.get("data", {}).get("status", 400) < 500, (param.name, value, error)


def test_a_required_param_is_asked_for(client: Client) -> None:
    for method in METHODS:
        if any(param.required for param in method.params):
            assert client.refusal(method.name)[0] == -32602, method.name


def test_no_method_writes_by_sql(client: Client) -> None:
    for query in (
        "delete from runs",
        "insert into settings values ('a', 'b')",
        "attach 'x.db' as x",
        "select 1; drop table runs",
    ):
        assert client.refusal("sql", query=query)[1] in (400, 403), query
    assert client.refusal("sql", query="select ?", bindings=[{}])[1] == 400
    assert client.call("sql", query="select x'00ff' as bytes, 1 as n") == [{"bytes": "0x00ff", "n": 1}]
    assert client.call("sql", query="select 9e999 as large") == [{"large": "inf"}]


def test_no_more_entries_are_sent_than_fit_into_a_message(client: Client) -> None:
    client.call("startRun", run="large", model="local")
    for number in range(17):
        client.call("set", run="large", path=f"large{number}.txt", body="x" * 1_000_000)
    code, status, message = client.refusal("getEntries", run="large", pattern="large*")
    assert (code, status) == (-32000, 413)
    assert "use limit or pattern" in message
    assert len(client.call("getEntries", run="large", pattern="large*", limit=2)) == 2


def test_no_project_lies_outside(client: Client, server: Server) -> None:
    for place, status in (
        ("..", 403),
        ("out", 403),
        ("/", 403),
        (str(server.folder.parent), 403),
        ("none", 404),
        ("sub\0", 404),
        (".engine/rpc.json", 400),
    ):
        assert client.refusal("init", projectRoot=place)[1] == status, place
    assert client.refusal("init", projectRoot="sub", configPath="x")[1] == 400
    assert client.call("init", projectRoot=str(server.folder / "sub"))["projectRoot"] == str(server.folder / "sub")


def test_a_message_that_is_too_long_ends_its_connection_alone(server: Server, client: Client) -> None:
    with server.client() as other:
        other.send("x" * 10_000_001)
        with pytest.raises(ConnectionClosed) as ended:
            other.wait("never")
        assert ended.value.rcvd is not None
        assert ended.value.rcvd.code == 1009
    assert client.call("ping") == {}


def test_a_client_that_asks_and_does_not_read_holds_up_itself_alone(server: Server, client: Client) -> None:
    with server.client(max_queue=1, close_timeout=1) as other:
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "discover"})
        deadline = time.monotonic() + 20
        sent = 0
        while time.monotonic() < deadline and sent < 20_000:
            try:
                other.socket.socket.settimeout(0.5)
                other.send(request)
                sent += 1
            except (TimeoutError, ConnectionClosed):
                break
        assert client.call("ping") == {}


@asynccontextmanager
async def slow_client(folder: Path, **options: Any) -> AsyncIterator[tuple[Hub, ClientConnection]]:
    """A client that reads only what a test reads, of a server in this process, and the hub that tells it."""
    projects = Projects(lambda where: engine.open(where / "t.db"), folder)
    address = _listening(projects, Place(port=0), TOKEN)
    async with address as url, connect_async(f"{url}/?token={TOKEN}", max_queue=1, max_size=None, **options) as slow:
        await slow.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "getRuns"}))
        while "id" not in json.loads(await slow.recv()):
            pass
        yield (await projects.project()).hub, slow
    await projects.close()


def test_a_client_that_does_not_read_what_it_is_told_is_disconnected(tmp_path: Path) -> None:
    async def flood() -> Any:
        async with slow_client(tmp_path, close_timeout=1) as (hub, slow):
            for number in range(900):
                hub.tell(None, "ui/render", {"run": "flood", "text": f"{number}" + "x" * 50_000})
                await asyncio.sleep(0)
            with pytest.raises(ConnectionClosed) as ended:
                await _read_all(slow)
        return ended.value.rcvd

    closed = asyncio.run(flood())
    assert (closed.code, closed.reason) == (1013, "does not read its messages")


async def _read_all(client: ClientConnection) -> None:
    while True:
        await client.recv()


def test_of_the_states_of_a_run_only_the_latest_waits(tmp_path: Path) -> None:
    async def flood() -> list[int]:
        async with slow_client(tmp_path) as (hub, slow):
            for number in range(100):
                hub.tell(None, "run/state", {"run": "flood", "turn": number, "answer": "x" * 1_000_000})
                await asyncio.sleep(0)
            told = [-1]
            while told[-1] != 99:
                told.append(json.loads(await slow.recv())["params"]["turn"])
        return told

    told = asyncio.run(flood())
    assert told == sorted(told)
    assert len(told) < 50


def test_there_is_an_end_to_clients(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder) as server, ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(server.client())
        with pytest.raises(InvalidStatus) as refused, server.client():
            pass
        assert refused.value.response.status_code == 503


def test_a_file_of_somebody_else_is_refused(server: Server, client: Client) -> None:
    planted = database(server.folder / "sub2")
    planted.parent.mkdir(parents=True, mode=0o700)
    with engine.open(planted) as db:
        db.start("Go", run="planted", model="scripted:x", root=None)
        db.execute("create trigger strange after insert on turns begin delete from events; end")
    assert run_command(server.folder, "true").returncode == 0
    code, status, message = client.refusal("init", projectRoot="sub2")
    assert (code, status) == (-32000, 403)
    assert "engine trust" in message


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder) as server:
        port = server.place["url"].rsplit(":", 1)[1]
        taken = engine_process(folder, "serve", "rpc", "--port", port)
        assert (taken.returncode, taken.stderr.count("\n")) == (1, 1)
        assert "choose another address" in taken.stderr
        assert server.place["url"].endswith(port)
    wrong = (
        (("--root", "none"), 2),
        (("--origin", "localhost"), 2),
        (("--port", "70000"), 2),
        (("--host", "no.such.host.invalid"), 1),
    )
    for arguments, code in wrong:
        said = engine_process(folder, "serve", "rpc", *arguments)
        assert said.returncode == code, said.stderr
        assert "Traceback" not in said.stderr
