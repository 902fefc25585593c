"""Connections of the HTTP client: each goes to an address that was judged, and all of them together end at a deadline."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import httpcore2

from engine.functions.limits import Stopped

from .addresses import Policy
from .failures import WebFailure

Resolve = Callable[[str, int], list[str]]
"""The addresses of a host on a port; raises `OSError` where it has none."""

_TICK_SECONDS = 0.2
_MOST_ADDRESSES = 4
_MOST_AHEAD = 262_144
"""The bytes that may come before an answer has begun: its head, and what says only that it is on its way (HTTP 103)."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver gives, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Deadline:
    """The end of one piece of work: after `seconds`, or when `stopped` is set."""

    def __init__(self, seconds: float, stopped: threading.Event) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds
        self._stopped = stopped

    def tick(self, most: float = _TICK_SECONDS) -> float:
        """How long to wait next, in seconds. Raises `Stopped` when stopped, `WebFailure` (timeout) when time is up."""
        if self._stopped.is_set():
            raise Stopped("stopped while the web was read")
        left = self._until - time.monotonic()
        if left <= 0:
            raise WebFailure("timeout", f"gave up after {self.seconds:g} s")
        return min(left, most)

    def call(self, work: Callable[[], Any]) -> Any:
        """What `work` returns. It runs in a thread of its own, which is left behind where it takes too long."""
        results: list[tuple[bool, Any]] = []

        def run() -> None:
            try:
                results.append((True, work()))
            except Exception as error:
                results.append((False, error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(self.tick())
        done, result = results[0]
        if done:
            return result
        raise result


class Network(httpcore2.NetworkBackend):
    """Resolves a host once a connection, judges every address that comes back, and connects to one of those, so that what
    is reached is what was judged.
    """

    def __init__(self, policy: Policy, deadline: Deadline, resolving: Resolve = resolve) -> None:
        self._policy = policy
        self._deadline = deadline
        self._resolve = resolving
        self._plain = httpcore2.SyncBackend()
        self._ahead: int | None = None

    def has_answer(self) -> None:
        """Tell that the head of the answer has been read: what comes now is measured as its body."""
        self._ahead = None

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """A connection to `host`; raises `WebFailure` where it has no address, one that is refused, or none that answers."""
        name = host.lower().rstrip(".")
        self._ahead = 0
        try:
            addresses = self._deadline.call(lambda: self._resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise WebFailure("not_found", f"no address of {host} was found ({error})") from error
        for address in addresses:
            self._policy.expect_address(name, address, port)
        failure: Exception = OSError("it has no address")
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                # a part of the time for each, or one that does not answer takes all of it
                left = self._deadline.tick(self._deadline.seconds / 3)
                plain = self._plain.connect_tcp(address, port, left, local_address, socket_options)
                return _Stream(plain, self._deadline, partial(self._hear, name))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        self._deadline.tick()
        raise WebFailure("unreachable", f"{host} cannot be reached on port {port} ({failure})") from failure

    def _hear(self, host: str, size: int) -> None:
        """Count what comes before the answer: each piece of it is looked through for the end of a head."""
        if self._ahead is None:
            return
        self._ahead += size
        if self._ahead > _MOST_AHEAD:
            raise WebFailure("overflow", f"{host} sent more than {_MOST_AHEAD:,} bytes before its answer")


class _Stream(httpcore2.NetworkStream):
    """A connection each of whose reads and writes ends at the deadline, however slowly the other side sends."""

    def __init__(self, plain: httpcore2.NetworkStream, deadline: Deadline, hear: Callable[[int], None]) -> None:
        self._plain = plain
        self._deadline = deadline
        self._hear = hear

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        while True:
            tick = self._deadline.tick()
            try:
                data = self._plain.read(max_bytes, tick)
            except httpcore2.ReadTimeout:
                continue
            self._hear(len(data))
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        try:
            self._plain.write(buffer, self._deadline.tick(self._deadline.seconds))
        except httpcore2.WriteTimeout:
            self._deadline.tick()
            raise

    def close(self) -> None:
        self._plain.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        left = self._deadline.tick(self._deadline.seconds)
        try:
            return _Stream(self._plain.start_tls(ssl_context, server_hostname, left), self._deadline, self._hear)
        except httpcore2.ConnectTimeout:
            self._deadline.tick()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)
