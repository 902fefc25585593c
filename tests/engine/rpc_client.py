"""A server of runs in a process of its own, and clients of it, for tests."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine_cli import ENGINE, environment
from websockets.sync.client import ClientConnection, connect, unix_connect

SECONDS = 300
"""How long is waited for what comes, on the slowest machine."""


class Server:
    """`engine serve rpc` over `folder`; ready when it has said where it is."""

    def __init__(self, folder: Path, *arguments: str, **extra: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*ENGINE, "serve", "rpc", *(arguments or ("--port", "0"))],
            cwd=folder,
            env=environment(folder.parent, **extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []
        self._first = threading.Event()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        assert self._first.wait(SECONDS), "it says where it is"
        self.said = self._lines[0] if self._lines else ""

    def _read(self) -> None:
        assert self.process.stderr is not None, "it is a pipe"
        with self.process.stderr as said:
            for line in said:
                self._lines.append(line)
                self._first.set()
        self._first.set()

    @property
    def place(self) -> dict[str, Any]:
        """What `.engine/rpc.json` says."""
        told: dict[str, Any] = json.loads((self.folder / ".engine" / "rpc.json").read_text("utf-8"))
        return told

    def client(self, **options: Any) -> Client:
        """A client that has the token."""
        place = self.place
        headers = {"Authorization": f"Bearer {place['token']}"}
        return Client(connect(place["url"], additional_headers=headers, max_size=None, **options))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """End it by a signal; its exit code, and what it had to say besides the first line."""
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        self._reading.join(SECONDS)
        return code, "".join(self._lines[1:])


@contextmanager
def served(folder: Path, *arguments: str, **extra: str) -> Iterator[Server]:
    """A server that is ended with the test, without having had to complain."""
    server = Server(folder, *arguments, **extra)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            code, said = server.stop()
            assert (code, said) == (0, ""), said


class Client:
    """Calls methods, and keeps what it is told meanwhile."""

    socket: ClientConnection

    def __init__(self, connecting: connect) -> None:
        self._connecting = connecting
        self.told: list[dict[str, Any]] = []
        self._calls = 0

    def __enter__(self) -> Client:
        self.socket = self._connecting.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._connecting.__exit__(None, None, None)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer to a call."""
        self._calls += 1
        self.send({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params})
        while "id" not in (message := self.receive()):
            self.told.append(message)
        assert message["id"] == self._calls
        return message

    def call(self, method: str, **params: Any) -> Any:
        """The result of a call that succeeds."""
        answer = self.ask(method, **params)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def refusal(self, method: str, **params: Any) -> tuple[int, int | None, str]:
        """Code, status and message of a call that fails."""
        error = self.ask(method, **params)["error"]
        return error["code"], error.get("data", {}).get("status"), error["message"]

    def send(self, message: Any) -> None:
        """Send a message as JSON, or a text or bytes as they are."""
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def receive(self) -> Any:
        """The next message."""
        return json.loads(self.socket.recv(SECONDS))

    def wait(self, method: str, **values: Any) -> dict[str, Any]:
        """The params of the first notification `method` with these values, of those that came and those that come."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for place, message in enumerate(self.told):
                params = message.get("params", {})
                if message["method"] == method and all(params.get(name) == value for name, value in values.items()):
                    del self.told[: place + 1]
                    return dict(params)
            self.told.append(self.receive())
        raise AssertionError(f"was not told of {method} {values}")


def over(socket: Path) -> Client:
    """A client of the server at a Unix socket."""
    return Client(unix_connect(str(socket), "ws://localhost/"))
