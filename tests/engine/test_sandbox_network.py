"""The network of a sandbox: none, all, or domains by a proxy outside. All servers are real ones on loopback.

1. A listed host is reached, by CONNECT and by plain HTTP; nothing else is, by no spelling.
2. A name of the public internet that leads to this machine or to a private network is refused.
3. What was refused is told.

spec: @sandbox_network
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sandboxed import NOBODY, Place, give, open_up, require_sandbox, skip

from engine.errors import ValidationError
from engine.sandbox.domains import Domain, is_public, parse
from engine.sandbox.proxy import Proxy

CLIENT = """
import json, socket, sys, urllib.request
given, managed = json.loads(sys.argv[1]), []

def asks(line, then=b""):
    with socket.create_connection(("127.0.0.1", 3128), 300) as client:
        client.sendall(line.encode() + b"\\r\\n\\r\\n")
        first = client.recv(9999)
        if b" 200 " in first[:20] and then:
            client.sendall(then)
            first = b""
        while piece := client.recv(9999):
            first += piece
        return first

for name, line in given["lines"].items():
    try:
        if given["word"].encode() in asks(line, b"GET / HTTP/1.0\\r\\n\\r\\n" if line.startswith("CONNECT") else b""):
            managed.append(name)
    except OSError:
        pass
try:
    if given["word"] in urllib.request.urlopen(f"http://localhost:{given['port']}/", timeout=300).read().decode():
        managed.append("urllib")
except OSError:
    pass
for address in (("127.0.0.1", given["port"]), ("127.0.0.1", given["other"])):
    try:
        socket.create_connection(address, 300).close()
        managed.append(f"directly {address}")
    except OSError:
        pass
print(json.dumps(managed))
"""
WORD = "zq4711served"
PATIENCE_S = 300


@pytest.fixture
def port() -> Iterator[int]:
    yield from serve()


@pytest.fixture
def other() -> Iterator[int]:
    yield from serve()


def serve() -> Iterator[int]:
    """A server that answers each connection with one word; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client, suppress(OSError):  # who went away again
                    client.settimeout(PATIENCE_S)
                    asked = b""
                    while b"\r\n\r\n" not in asked and (piece := client.recv(9999)):
                        asked += piece
                    client.sendall(f"HTTP/1.0 200 OK\r\n\r\n{WORD}".encode())

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture(params=["itself", "nobody"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    require_sandbox()
    monkeypatch.setenv("no_proxy", "")
    root = tmp_path / "project"
    root.mkdir()
    if request.param == "itself":
        return Place(root)
    if os.geteuid() != 0:
        skip("only root can run a command as another user")
    open_up(tmp_path)
    give(root, NOBODY)
    return Place(root, NOBODY)


def test_only_what_is_listed_is_reached(place: Place, port: int, other: int) -> None:
    lines = {
        "CONNECT": f"CONNECT localhost:{port} HTTP/1.1",
        "GET": f"GET http://LOCALHOST.:{port}/x HTTP/1.1",
        "CONNECT to another port": f"CONNECT localhost:{other} HTTP/1.1",
        "GET from another port": f"GET http://localhost:{other}/ HTTP/1.1",
        "an address": f"CONNECT 127.0.0.1:{port} HTTP/1.1",
        "a short address": f"CONNECT 127.1:{port} HTTP/1.1",
        "a number": f"CONNECT 2130706433:{port} HTTP/1.1",
        "IPv6": f"CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1",
        "a user in front": f"GET http://localhost:{port}@127.0.0.1:{other}/ HTTP/1.1",
        "another Host": f"GET http://127.0.0.1:{other}/ HTTP/1.1\r\nHost: localhost:{port}",
        "a folded line": f"GET http://127.0.0.1:{other}/ HTTP/1.1\r\nX: y\r\n Host: localhost",
        "a path": "GET /x HTTP/1.1\r\nHost: localhost",
        "a subdomain": f"CONNECT x.localhost:{port} HTTP/1.1",
        "no request": "\x16\x03\x01",
    }
    given = {"lines": lines, "word": WORD, "port": port, "other": other}
    managed = place.attempt(CLIENT, given, network=f"localhost:{port},example.org")
    assert managed == ["CONNECT", "GET", "urllib"]


def test_what_was_refused_is_told(place: Place) -> None:
    ask = "s.sendall(b'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n'); print(s.makefile().read())"
    program = f"import socket; s = socket.create_connection(('127.0.0.1', 3128)); {ask}"
    said = place.run(f'{place.python} -I -S -c "{program}"; exit 4', network="example.org")
    assert said.refused == ["evil.example:443"]
    assert said.out.startswith("HTTP/1.1 403 Forbidden")
    assert "evil.example:443 is not among the domains of --domains" in said.out
    assert said.result.exit_code == 4


def test_all_the_network_is_reached_where_asked(place: Place, port: int) -> None:
    line = f"{place.python} -I -S -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\""
    assert [place.run(line, network=network).result.exit_code for network in ("", "all")] == [1, 0]


def test_a_public_name_of_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with Proxy("example.org") as proxy, closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(str(proxy.socket))
        client.sendall(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
        assert b"has an address of this machine" in client.recv(9999)
        assert proxy.refused == ["example.org:443"]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1::1", True), ("127.0.0.1", False), ("10.0.0.1", False),
        ("172.16.0.1", False), ("192.168.1.1", False), ("169.254.169.254", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("100.64.0.1", False), ("::1", False), ("::", False), ("fe80::1%eth0", False), ("fd00::1", False),
        ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False), ("2002:7f00:1::", False), ("64:ff9b::5db8:d822", True),
    ],
)  # fmt: skip
def test_addresses_inside_are_not_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_domain_lets_its_web_ports_and_subdomains_through() -> None:
    exact, below, ported = parse("Example.org, *.example.net ,example.com:8080")
    assert (exact, ported.port) == (Domain("example.org", None), 8080)
    assert [exact.lets_through("example.org", port) for port in (80, 443, 22)] == [True, True, False]
    hosts = ("a.example.net", "a.b.example.net", "example.net", "badexample.net")
    assert [below.lets_through(host, 443) for host in hosts] == [True, True, False, False]
    assert [ported.lets_through("example.com", port) for port in (443, 8080)] == [False, True]


@pytest.mark.parametrize("given", ["", "a b", "http://x.org", "x.org/", "*", "x:0", "x:99999", "a,,b", "x\ny", "*.*.x"])
def test_what_is_no_domain_is_refused(given: str) -> None:
    with pytest.raises(ValidationError, match="is not a domain"):
        parse(given)
