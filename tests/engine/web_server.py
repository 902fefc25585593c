"""A real web server on loopback whose pages a test writes, and the means to reach it."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Route = Callable[["Handler"], None]

ARTICLE = """<!doctype html><html><head><title>Label printer</title>
<meta property="article:published_time" content="2024-05-01T10:00:00Z"></head>
<body><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav><article><h1>Label printer</h1>
<p>The label printer listens on port 9100, as <a href="/manual">the manual</a> says, and nobody should change that.</p>
<p>{more}</p></article><script>alert("script")</script></body></html>"""


class Handler(BaseHTTPRequestHandler):
    """Answers by the routes of its server."""

    server: Web

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        route = self.server.routes.get(self.path.partition("?")[0])
        if route is None:
            self.send_error(404)
        else:
            route(self)

    def give(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a response with the length of its body, unless the headers say something else; an empty one is left out."""
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing: the tests read `asked`."""


class Web(ThreadingHTTPServer):
    """A server with `routes`, the requests that it was `asked` as path and headers, and an event that is set at its end."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), Handler)
        self.routes: dict[str, Route] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients that go away are what some tests are about."""


@contextmanager
def web(tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """A running server."""
    with Web() as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.closing.set()
        server.shutdown()


def page(text: str = ARTICLE, content_type: str = "text/html; charset=utf-8", **headers: str) -> Route:
    """A page of this text."""
    return lambda handler: handler.give(200, text.encode(), Content_Type=content_type, **headers)


def raw(body: bytes, content_type: str, **headers: str) -> Route:
    """These bytes."""
    return lambda handler: handler.give(200, body, Content_Type=content_type, **headers)


def to(place: str, status: int = 302) -> Route:
    """A redirect."""
    return lambda handler: handler.give(status, Location=place)


def tagged(etag: str, text: str) -> Route:
    """A page with an ETag, which is sent again only where the client does not have it."""

    def route(handler: Handler) -> None:
        if handler.headers["If-None-Match"] == etag:
            handler.give(304, ETag=etag)
        else:
            handler.give(200, text.encode(), Content_Type="text/plain; charset=utf-8", ETag=etag)

    return route


def bomb(packed_mb: int) -> bytes:
    """Gzip of that many million zeros, a thousandth in size."""
    return gzip.compress(bytes(packed_mb * 1_000_000), 9)


def wrote(sent: bytes) -> Route:
    """These bytes in place of a response."""

    def route(handler: Handler) -> None:
        handler.wfile.write(sent)

    return route


def dripping(first: bytes) -> Route:
    """Send these bytes, and then one more each tenth of a second, until the test is over."""

    def route(handler: Handler) -> None:
        handler.wfile.write(first)
        while not handler.server.closing.wait(0.1):
            handler.wfile.write(b"a")

    return route
