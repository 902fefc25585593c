"""Lets in who has the token, from pages of this address alone, and forbids pages whatever they do not need.

spec: @inspector_access
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""No script or style in a page, nothing from elsewhere, no frame."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MOST_BYTES = 2_000_000
"""A form with more is refused."""


class Guard:
    """Stands before the app. `port` is known once the server listens."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"engine_inspector_{port}"
        self._hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that may not come in, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This address is not the inspector's.", 421)
        if given := request.query_params.get("token"):
            if request.method != "GET" or not _same(given, self._token):
                return PlainTextResponse(
                    "This is not the token. The address with it is the first line of engine web.", 403
                )
            # a path of two slashes would be another host
            answer = RedirectResponse("/" + request.url.path.lstrip("/\\"), 303)
            answer.set_cookie(self._cookie, self._secret("cookie"), httponly=True, samesite="strict", path="/")
            return answer
        if not _same(request.cookies.get(self._cookie, ""), self._secret("cookie")):
            return PlainTextResponse("Open the address that engine web has printed: it has the token.", 403)
        if request.method not in ("GET", "HEAD") and not self._is_own(headers):
            return PlainTextResponse("Only the inspector's own pages may write.", 403)
        return None

    def _is_own(self, headers: Headers) -> bool:
        """Whether a page of this address sends it, as the browser says; a form's own token is looked at by the app."""
        origin = urlsplit(headers.get("origin", ""))
        if origin.scheme != "http" or origin.netloc.lower() != headers.get("host", "").lower():
            return False
        length = headers.get("content-length", "")
        return (
            headers.get("sec-fetch-site", "same-origin") == "same-origin"
            and length.isdigit()
            and int(length) <= MOST_BYTES
        )

    def _secret(self, use: str) -> str:
        return secret(self._token, use)


def secret(token: str, use: str) -> str:
    """What stands for the token in a cookie or a form, which does not tell the token."""
    return hmac.new(token.encode(), use.encode(), hashlib.sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
