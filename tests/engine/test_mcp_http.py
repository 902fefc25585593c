"""MCP servers behind an address, and the hooks of an app.

1. Keys; 2. what is not followed, and what is not sent; 3. hooks.

spec: @mcp_servers @mcp_hooks
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_servers import driven, office, over_http

import engine
from engine.mcp import Log, Request, Response, Server, connect

# 1. keys


def test_a_server_that_wants_a_key_says_so_without_one(tmp_path: Path) -> None:
    with over_http("right-token-12345") as url:
        with connect(Server("office", url=url)) as registry:
            assert "401: it rejects the key" in registry.failures["office"]
        headers = {"Authorization": "Bearer right-token-12345"}
        with connect(Server("office", url=url, headers=headers)) as registry:
            assert registry.call("office", "price", {"room": "A"}).startswith("{")
        log = driven(
            tmp_path, [Server("office", url=url, headers=headers, allow=["*"])], "<office__price>A</office__price>"
        )
        assert log[0][1] == 200
    for path in tmp_path.iterdir():
        assert b"right-token-12345" not in path.read_bytes(), path


def test_a_token_that_was_refused_is_refreshed_once() -> None:
    given: list[Any] = []

    def auth() -> str:
        given.append("old")
        return "old-token-123456789"

    async def refresh(token: Any) -> dict[str, str]:
        given.append(token)
        return {"Authorization": "Bearer new-token-123456789"}

    with (
        over_http("new-token-123456789") as url,
        connect(Server("office", url=url, auth=auth, refresh=refresh)) as registry,
    ):
        assert registry.failures == {}
        assert registry.call("office", "book", {"room": "A"}) == "room A is booked for 1 h"
    assert given == ["old", "old-token-123456789"]


def test_an_auth_of_the_client_library_is_taken_too() -> None:
    class Key(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
            request.headers["Authorization"] = "Bearer own-token-123456789"
            yield request

    with over_http("own-token-123456789") as url, connect(Server("office", url=url, auth=Key())) as registry:
        assert registry.call("office", "book", {"room": "A"}) == "room A is booked for 1 h"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")
def test_a_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", certificate, *names], check=True, capture_output=True)
    with over_http(OFFICE_KEY=str(key), OFFICE_CERTIFICATE=str(certificate)) as url:
        server = Server("office", url=url.replace("http:", "https:"), headers={"X-Api-Key": "k" * 20})
        with connect(server) as registry:
            assert "certificate" in registry.failures["office"].lower()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with connect(server) as registry:
            assert registry.call("office", "book", {"room": "A"}) == "room A is booked for 1 h"


# 2. what is not followed, and what is not sent


@contextmanager
def answering(status: int, *headers: tuple[str, str], body: bytes = b"", endless: bool = False) -> Iterator[Any]:
    """A server on loopback that answers all requests so; `asked` are their headers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.server.asked.append(dict(self.headers))  # type: ignore[attr-defined]
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
                while endless:
                    self.wfile.write(b" " * 65_536)
            except OSError:
                pass

        do_GET = do_DELETE = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _url(server: Any) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/mcp"


def test_a_redirect_to_another_host_is_not_followed() -> None:
    with answering(200) as other, answering(307, ("Location", _url(other))) as first:
        with connect(Server("moved", url=_url(first), headers={"X-Api-Key": "secret-12345678"})) as registry:
            assert "moved" in registry.failures
        assert first.asked
        assert other.asked == []


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_without_end_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.mcp import addresses

    monkeypatch.setattr(addresses, "STREAM_BYTES", 9_000_000)
    with (
        answering(200, ("Content-Type", kind), endless=True) as server,
        connect(Server("endless", url=_url(server))) as registry,
    ):
        assert "bytes" in registry.failures["endless"] or "SSE" in registry.failures["endless"]


@pytest.mark.parametrize("status", [404, 500, 429])
def test_what_is_no_server_is_told_in_a_line(status: int) -> None:
    with (
        answering(status, body=b"<html>\x1b[2Jno</html>") as server,
        connect(Server("x", url=_url(server))) as registry,
    ):
        assert str(status) in registry.failures["x"]
        assert "\x1b" not in registry.failures["x"]


def test_keys_go_to_https_or_this_machine_only() -> None:
    with pytest.raises(engine.ValidationError, match="https"):
        Server("far", url="http://example.org/mcp", headers={"X-Api-Key": "k"})
    with pytest.raises(engine.ValidationError, match="must not contain a user name"):
        Server("far", url="https://me:secret@example.org/mcp")
    with pytest.raises(engine.ValidationError, match="header"):
        Server("far", url="https://example.org/mcp", headers={"A": "b\r\nC: d"})
    with pytest.raises(engine.ValidationError, match="set sandbox too"):
        Server("far", ["a"], network="all")
    with pytest.raises(engine.ValidationError):
        Server("far", ["a"], network="https://no.list", sandbox=True)
    for word in ("a\0b", "a\udcff"):
        with pytest.raises(engine.ValidationError, match="not UTF-8"):
            Server("far", [word])
    for wrong in ("ftp://example.org", "https://", "nothing", "https://[::1"):
        with pytest.raises(engine.ValidationError):
            Server("far", url=wrong)


# 3. hooks


def test_hooks_see_and_change_what_is_sent_and_what_comes() -> None:
    seen: list[tuple[str, str]] = []
    logs: list[Log] = []
    pages: list[tuple[str, int]] = []

    def on_request(request: Request) -> Request | None:
        seen.append(("request", request.method))
        if request.method == "tools/call" and request.params is not None:
            arguments = {**request.params["arguments"], "room": "Z"}
            return Request(request.server, request.method, {**request.params, "arguments": arguments})
        return None

    def on_response(response: Response) -> Response | None:
        seen.append(("response", response.method))
        if response.method == "tools/call" and response.result is not None:
            text = response.result["content"][0]["text"].upper()
            content = [{"type": "text", "text": text}]
            return Response(response.server, response.method, {**response.result, "content": content})
        return None

    def on_page(kind: str, number: int) -> bool:
        pages.append((kind, number))
        return True

    def on_log(log: Log) -> None:
        logs.append(log)
        raise RuntimeError("nobody minds")

    server = office(on_request=on_request, on_response=on_response, on_log=on_log, on_page=on_page)
    with connect(server) as registry:
        assert registry.call("office", "book", {"room": "A"}) == "ROOM Z IS BOOKED FOR 1 H"
        registry.call("office", "say", {"text": "hello"})
    assert ("request", "tools/call") in seen
    assert ("response", "tools/list") in seen
    assert ("tools", 1) in pages or pages == []
    assert any(log.level == "info" and log.text == "hello" for log in logs)


def test_what_a_hook_raises_fails_its_request_alone() -> None:
    def on_response(response: Response) -> None:
        if response.method == "prompts/get":
            raise LookupError("no")

    def on_request(request: Request) -> None:
        if request.method == "resources/read":
            raise LookupError("never")

    with connect(office(on_response=on_response, on_request=on_request)) as registry:
        with pytest.raises(LookupError, match="never"):
            registry.read("office", "office://rules")
        with pytest.raises(engine.EngineError, match="on_response: LookupError: no"):
            registry.prompt("office", "review", {"room": "A"})
        assert registry.call("office", "book", {"room": "A"}) == "room A is booked for 1 h"


def test_a_registry_lists_searches_reads_and_prompts() -> None:
    from engine.tools.results import ToolFailed

    with connect(office()) as registry:
        assert [item.name for item in registry.items("prompt")] == ["review"]
        assert {item.kind for item in registry.search("room")} == {"tool", "template", "prompt"}
        assert registry.search("rules smoke keeps", "resource")[0].name == "office://rules"
        assert registry.read("office", "office://room/blue") == ("Room blue has 12 chairs.", "text/plain")
        assert registry.prompt("office", "review", {"room": "A"}) == "Review room A in a polite tone."
        with pytest.raises(engine.NotFound, match=r"did you mean book\?"):
            registry.call("office", "bok")
        with pytest.raises(engine.ValidationError, match="needs room"):
            registry.prompt("office", "review")
        with pytest.raises(ToolFailed):
            registry.call("office", "fail", {"why": "x"})
        with pytest.raises(engine.EngineError):
            registry.read("office", "office://nothing")
        with pytest.raises(engine.NotFound, match="MCP server 'other': not found"):
            registry.prompt("other", "review")


def test_servers_are_made_of_plain_data() -> None:
    given = {
        "name": "My Files!",
        "command": "npx",
        "args": ["-y", "x"],
        "env": [{"name": "A", "value": "b"}],
        "type": "stdio",
    }
    server = Server.of_data(given)
    assert (server.name, server.command, server.env) == ("my-files", ["npx", "-y", "x"], {"A": "b"})
    server = Server.of_data({"name": "1", "url": "https://a.example/mcp", "headers": {"X-A": "b"}, "type": "http"})
    assert (server.name, server.url, server.headers) == ("mcp-1", "https://a.example/mcp", {"X-A": "b"})
    for wrong in (
        {"name": "a"},
        {"name": "a", "url": "https://b.example", "type": "sse"},
        {"name": "a", "command": 5},
        {},
    ):
        with pytest.raises(engine.ValidationError, match=r"MCP server|no name"):
            Server.of_data(wrong)
    with pytest.raises(TypeError, match=r"engine\.mcp\.Server"):
        engine.open(":memory:", mcp=[{"name": "a"}])  # type: ignore[list-item]
    for names in (("office", "office"), ("an-office", "an_office")):
        with pytest.raises(engine.ValidationError, match="two servers have this name"):
            engine.open(":memory:", mcp=[office(name) for name in names])
