"""A real HTTP server on loopback that speaks OpenAI's chat completions, for runs that go over the wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers what was `asked` as the server's list of answers says, its last one again and again."""

    server: Server
    asked: dict[str, Any]

    def do_GET(self) -> None:
        self.server.authorizations.append(self.headers["Authorization"])
        self._answer()

    def do_POST(self) -> None:
        self.server.headers_asked.append(self.headers)
        self.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(self.asked)
        self._answer()

    def _answer(self) -> None:
        answers = self.server.answers
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, *args: Any) -> None:
        """Nothing: the tests read `asked`."""


class Server(ThreadingHTTPServer):
    """A server with `answers` to give; it keeps the bodies `asked` with their `headers_asked`, and counts `pieces`.

    Of GETs it keeps the `authorizations`.
    """

    daemon_threads = True

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked: list[dict[str, Any]] = []
        self.headers_asked: list[Message] = []
        self.authorizations: list[str | None] = []
        self.pieces = 0
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """The address for OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients that go away are what some tests are about."""


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """A server that gives these answers."""
    with Server(list(answers)) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:  # a thread whose socket is closed asks for it again and again
            server.closing.set()
            server.shutdown()


def failing(status: int, message: str, **headers: str) -> Answer:
    """Refuse with this status."""
    return refusing(status, {"error": {"message": message, "type": "error", "code": None}}, **headers)


def refusing(status: int, said: dict[str, Any], **headers: str) -> Answer:
    """Refuse with this status and this body."""

    def answer(handler: Handler) -> None:
        body = json.dumps(said).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def repeating(piece: str, most: int = 100_000) -> Answer:
    """Stream the same piece over and over, until the client goes away."""

    def answer(handler: Handler) -> None:
        _begin_stream(handler)
        choices = [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": choices}
        for _ in range(most):
            handler.server.pieces += 1
            handler.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    return answer


def _begin_stream(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()


def saying(text: str, ended: str | None = "stop") -> Answer:
    """Stream this text, with figures of what it took; where `ended` is None, break off without a reason."""

    def answer(handler: Handler) -> None:
        _begin_stream(handler)
        usage = {"prompt_tokens": 1200, "completion_tokens": 7, "total_tokens": 1207}
        for fields in (
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": ended}]},
            {"choices": [], "usage": usage},
        ):
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", **fields}
            handler.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        if ended is not None:
            handler.wfile.write(b"data: [DONE]\n\n")

    return answer


def writing(text: str, pause_s: float = 0.005, size: int = 12) -> Answer:
    """Stream this text in pieces, as a model writes it."""

    def answer(handler: Handler) -> None:
        _begin_stream(handler)
        for at in range(0, len(text), size):
            choices = [{"index": 0, "delta": {"content": text[at : at + size]}, "finish_reason": None}]
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": choices}
            handler.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            if handler.server.closing.wait(pause_s):
                return
        ends = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        usage = {"prompt_tokens": 1200, "completion_tokens": 70, "total_tokens": 1270}
        for fields in ({"choices": ends}, {"choices": [], "usage": usage}):
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", **fields}
            handler.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        handler.wfile.write(b"data: [DONE]\n\n")

    return answer


def silence(handler: Handler) -> None:
    """Say nothing until the test is over."""
    handler.server.closing.wait(600)
