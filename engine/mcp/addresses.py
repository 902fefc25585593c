"""The transport of a server behind an address: streamable HTTP, with the headers and tokens of its user.

The user named the host, so it may be any; a redirect is followed within the same origin only, no proxy and no `.netrc` of
the environment is used, and no answer is without end.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2
from mcp.client.streamable_http import streamable_http_client

from engine.system import secrets

from .limits import MESSAGE_BYTES, STREAM_BYTES
from .servers import Auth, Server, Token

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from .watching import Watch

_CONNECT_SECONDS = 10.0


@asynccontextmanager
async def address(server: Server, watch: Watch) -> AsyncIterator[TransportStreams]:
    """Speak with the server at `server.url`."""
    assert server.url is not None, "the server has an address"
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None, write=server.timeout, pool=None)
    async with (
        httpx2.AsyncClient(
            transport=_Bounded(watch),
            headers=dict(server.headers),
            auth=_auth(server),
            timeout=timeout,
            trust_env=False,
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MESSAGE_BYTES) as streams,
    ):
        yield streams


def _auth(server: Server) -> httpx2.Auth | None:
    """What adds the tokens of an app: its hooks, or an `Auth` of its own, such as the SDK's for OAuth."""
    if server.auth is None or isinstance(server.auth, httpx2.Auth):
        return server.auth
    return _Tokens(server, server.auth)


class TooLong(httpx2.TransportError):
    """An answer that is longer than any may be."""


class _Bounded(httpx2.AsyncHTTPTransport):
    """A transport that ends an answer above its limit, and notes the status of one that is an error."""

    def __init__(self, watch: Watch) -> None:
        # certificates as those of pages: the system's, or SSL_CERT_FILE
        super().__init__(verify=httpcore2.default_ssl_context(), trust_env=False)
        self._watch = watch

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request, whose stream is bounded."""
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as error:
            self._watch.noise = f"{type(error).__name__}: {error}"[:300]
            raise
        # servers of before a version of the protocol answer 4xx to what they do not know
        self._watch.status = response.status_code if response.status_code >= 400 else None
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream), "an answer that is read by asyncio"
        response.stream = _BoundedStream(response.stream, STREAM_BYTES if is_stream else MESSAGE_BYTES, self._watch)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int, watch: Watch) -> None:
        self._inner = inner
        self._left = self._most = most
        self._watch = watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._inner:
            self._left -= len(data)
            if self._left < 0:
                self._watch.fault = f"it sent an answer of more than {self._most:,} bytes"
                raise TooLong(self._watch.fault)
            yield data

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()


class _Tokens(httpx2.Auth):
    """Adds the token of the hook `auth`; where it is refused, that of `refresh`, once for each request."""

    def __init__(self, server: Server, auth: Auth) -> None:
        self._server = server
        self._auth = auth
        self._token: Token | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Ask with the token, and once more with another one."""
        if self._token is None:
            self._token = await _given(self._auth())
        used = self._token
        _add(request, used)
        response = yield request
        if response.status_code == 401 and self._server.refresh is not None:
            if self._token is used:  # another request may have had it refreshed
                self._token = await _given(self._server.refresh(used))
            _add(request, self._token)
            yield request


async def _given(token: Any) -> Token:
    found = await token if inspect.isawaitable(token) else token
    if not isinstance(found, str | Mapping):
        raise TypeError(f"auth gives a token, or headers, not {type(found).__name__}")
    for value in [found] if isinstance(found, str) else found.values():
        secrets.learn(value)
    return found


def _add(request: httpx2.Request, token: Token) -> None:
    if isinstance(token, str):
        request.headers["Authorization"] = f"Bearer {token}"
    else:
        request.headers.update(dict(token))
