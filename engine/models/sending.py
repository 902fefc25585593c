"""Sends requests to providers, all of a process from one thread, which keeps the connections for the next calls.

The thread has an event loop, and a call is a coroutine of that: any number of them wait at once. A call that is given up is
cancelled there, which closes its connection. Nothing here follows a redirect, so that a key goes nowhere but to the
address that a person gave.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import getproxies

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

CONNECT_S = 10.0
"""How long connecting to a provider may take."""
_CLOSING_S = 1.0
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class _Sender:
    """The thread of a process, its event loop and its HTTP clients, one for each way out that the environment has named."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._clients: dict[tuple[Any, ...], httpx2.AsyncClient] = {}
        threading.Thread(target=self._loop.run_forever, name="models", daemon=True).start()

    def begin(self, call: Coroutine[Any, Any, T], ended: Callable[[T | BaseException], None]) -> Callable[[], None]:
        """Begin a call; `ended` gets what it gives or raises, in the thread. Returns what gives it up."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(call, self._loop)

        def tell(done: Future[T]) -> None:
            if not done.cancelled():
                ended(done.exception() or done.result())

        future.add_done_callback(tell)
        return lambda: (future.cancel(), None)[1]

    def client(self) -> httpx2.AsyncClient:
        """The client for the proxies and certificates that the environment names now; called in the thread."""
        import httpx2

        proxies = tuple(sorted(getproxies().items()))
        way = (*proxies, *(os.environ.get(name) for name in _CERTIFICATES))
        if way not in self._clients:
            self._clients[way] = httpx2.AsyncClient(
                follow_redirects=False,
                headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "engine"},
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            )
        return self._clients[way]

    def close(self) -> None:
        """End all calls, close the connections and the thread."""
        if os.getpid() != self._process:
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSING_S)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls, timeout=_CLOSING_S / 2)
        for client in self._clients.values():
            await client.aclose()


_lock = threading.Lock()
_sender: _Sender | None = None


def sender() -> _Sender:
    """That of this process, begun at the first call."""
    global _sender
    with _lock:
        if _sender is None:
            _sender = _Sender()
            atexit.register(_sender.close)
        return _sender


def _forget() -> None:
    """In a process that was forked: the thread is that of the other one."""
    global _lock, _sender
    _lock, _sender = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
