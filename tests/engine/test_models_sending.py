"""How requests are sent: one thread and kept connections, no library of a provider, nothing that stays behind.

spec: @provider_streams
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("httpx2")

from engine.keys.keys import Keys
from engine.models.protocol import Message, ModelError, Request
from engine.models.remote import RemoteModel

SAID = b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Handler(BaseHTTPRequestHandler):
    """Answers in chunks and keeps the connection, or never answers a model called `never`."""

    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def finish(self) -> None:
        super().finish()
        self.server.left.release()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b'"never"' in body:
            self.server.asked.release()
            self.rfile.read(1)  # until the client goes away
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(f"{len(SAID):x}\r\n".encode() + SAID + b"\r\n0\r\n\r\n")

    def log_message(self, *args: Any) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections = 0
        self.asked = threading.Semaphore(0)
        self.left = threading.Semaphore(0)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def model(self, name: str = "tiny") -> RemoteModel:
        return RemoteModel("openai", name, Keys(environment={"OPENAI_BASE_URL": self.url}))


@pytest.fixture
def server() -> Any:
    with Server() as found:
        yield found
        found.shutdown()


def ask(timeout_s: float = 300.0) -> Request:
    return Request((Message("user", "Hi"),), None, None, None, timeout_s, 0, "demo")


def test_calls_that_follow_each_other_share_a_connection(server: Server) -> None:
    model = server.model()
    assert [model.complete(ask()).text for _ in range(5)] == ["Hello"] * 5
    assert server.connections == 1


def test_many_calls_at_once_take_one_thread(server: Server) -> None:
    server.model().complete(ask())
    before = {thread.name for thread in threading.enumerate()}
    with ThreadPoolExecutor(50, thread_name_prefix="caller") as callers:
        answers = [*callers.map(lambda _: server.model().complete(ask()).text, range(200))]
        own = {thread.name for thread in threading.enumerate() if thread.name.startswith("model")}
    assert answers == ["Hello"] * 200
    assert own == {"models"} <= before


def test_a_call_that_is_cancelled_closes_its_connection(server: Server) -> None:
    cancelled = threading.Event()

    def cancel() -> None:
        server.asked.acquire()
        cancelled.set()

    threading.Thread(target=cancel).start()
    with pytest.raises(ModelError, match="was cancelled"):
        server.model("never").complete(ask(), None, cancelled)
    assert server.left.acquire(timeout=60)
    assert server.model().complete(ask()).text == "Hello"


def run(server: Server, program: str) -> subprocess.CompletedProcess[str]:
    head = (
        "import os, sys, threading\n"
        "from engine.models.protocol import Message, Request\n"
        "from engine.models.remote import RemoteModel\n"
        "ask = Request((Message('user', 'Hi'),), None, None, None, 300.0, 0, 'demo')\n"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", head + program],
        env={**os.environ, "OPENAI_BASE_URL": server.url},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_no_library_of_a_provider_is_imported_and_nothing_stays_open(server: Server) -> None:
    done = run(
        server,
        "print(RemoteModel('openai', 'tiny').complete(ask).text)\n"
        "print([name for name in ('pydantic', 'openai', 'anthropic', 'pydantic_ai') if name in sys.modules])\n",
    )
    assert (done.stdout, done.stderr) == ("Hello\n[]\n", "")


def test_a_process_ends_although_a_call_goes_on(server: Server) -> None:
    done = run(
        server,
        "call = lambda: RemoteModel('openai', 'never').complete(ask)\n"
        "threading.Thread(target=call, daemon=True).start()\n"
        "print(RemoteModel('openai', 'tiny').complete(ask).text)\n",
    )
    assert (done.returncode, done.stdout) == (0, "Hello\n")
    assert server.left.acquire(timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_thread_of_its_own(server: Server) -> None:
    done = run(
        server,
        "import warnings; warnings.simplefilter('ignore')\n"
        "print(RemoteModel('openai', 'tiny').complete(ask).text, flush=True)\n"
        "if not os.fork():\n"
        "    print(RemoteModel('openai', 'tiny').complete(ask).text, flush=True)\n"
        "else:\n"
        "    os.wait()\n",
    )
    assert (done.returncode, done.stdout) == (0, "Hello\nHello\n"), done.stderr
