"""What went wrong with a server, in one line, without keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError as InvalidAnswer

from engine.errors import EngineError, NotFound
from engine.system.secrets import scrubbed

if TYPE_CHECKING:
    from .watching import Watch

_HTTP = {
    401: "401: it rejects the key, or needs one; check headers, or use another key",
    403: "403: the key does not allow this",
    404: "404: there is no MCP server at this address",
    407: "407: a proxy requires a password",
    429: "429: too many requests; try later",
}


class ServerFailed(EngineError):  # noqa: N818 - a field term
    """502: a server cannot be started or reached, or its answer cannot be read."""

    status = 502


class CallTimeout(EngineError):  # noqa: N818 - a field term
    """504: a server has not answered in time."""

    status = 504


def failure(watch: Watch, error: BaseException) -> EngineError:
    """What went wrong on the connection that was watched, as an error of the engine."""
    error = _first(error)
    if isinstance(error, NotFound):
        return NotFound(told(watch, error.message))
    if isinstance(error, EngineError):
        return ServerFailed(told(watch, error.message))
    if watch.fault:
        return ServerFailed(told(watch, watch.fault, with_output=False))
    if isinstance(error, MCPError):
        if watch.status is not None:
            said = _HTTP.get(watch.status, f"HTTP {watch.status}: {error.message}")
            return ServerFailed(told(watch, said))
        if error.code == types.CONNECTION_CLOSED and watch.code is not None:
            return ServerFailed(told(watch, f"it ended with exit code {watch.code}"))
        code = "" if error.code >= -32000 or error.code < -32768 else f" ({error.code})"
        return ServerFailed(told(watch, f"{error.message}{code}"))
    if isinstance(error, InvalidAnswer):
        where = ".".join(str(each) for each in error.errors()[0]["loc"])[:100]
        return ServerFailed(told(watch, f"its answer does not follow the protocol (at {where or 'its beginning'})"))
    if watch.code is not None:
        return ServerFailed(told(watch, f"it ended with exit code {watch.code}"))
    return ServerFailed(told(watch, str(error) or type(error).__name__))


def told(watch: Watch, what: str, *, with_output: bool = True) -> str:
    """A line about the server, with its last words."""
    code = f"it ended with exit code {watch.code}; " if watch.code is not None and "exit code" not in what else ""
    printed = [each for each in watch.stderr if re.search(r"\w{2}", each)]
    lines = [each.strip("│╭╮╰╯─ ") for each in printed[-3:]] if with_output else []
    said = f"; its last words: {' / '.join(lines)}" if lines else ""
    if not lines and watch.noise and with_output and what not in watch.noise:
        said = f"; it wrote {watch.noise[:200]!r}"
    text = f"MCP server {watch.server.name}: {code}{what}{said}"
    return " ".join(scrubbed(text).split())[:1_500]


def _first(error: BaseException) -> BaseException:
    """The first error in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
