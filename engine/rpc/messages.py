"""JSON-RPC 2.0: reads what a client sends, and makes what it is sent. Who is at the other end may send anything."""

from __future__ import annotations

import json
import logging
import math
import os
from dataclasses import dataclass
from typing import Any

from engine.errors import EngineError, ValidationError
from engine.system.secrets import scrubbed

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
REFUSED = -32000
"""The code of an error of the engine; its status stands in `data`."""
MOST_IN_BATCH = 100
"""Requests in one message."""
_MOST_CHARS = 2_000
"""Characters of an error."""

Id = str | int | float | None


@dataclass(frozen=True)
class Request:
    """A call of `method`. One without an answer `is_told` only (a notification of JSON-RPC)."""

    method: str
    params: dict[str, Any]
    id: Id
    is_told: bool


class RpcError(Exception):
    """What a client gets in place of a result: a code of JSON-RPC, a line, and for the engine's own errors their status."""

    def __init__(self, code: int, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


def read_requests(text: str | bytes) -> tuple[list[Request | RpcError], bool]:
    """The requests of a message, each or what is wrong with it, and whether they are a batch. Raises `RpcError`."""
    if isinstance(text, bytes):
        raise RpcError(INVALID_REQUEST, "a message must be a text frame with JSON, not a binary frame")
    try:
        said = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"the message is not JSON: {error}") from error
    if not isinstance(said, list):
        return [_request(said)], False
    if not 0 < len(said) <= MOST_IN_BATCH:
        raise RpcError(INVALID_REQUEST, f"a batch must have 1 to {MOST_IN_BATCH} requests, not {len(said)}")
    return [_request(each) for each in said], True


def _request(said: Any) -> Request | RpcError:
    if not isinstance(said, dict) or said.get("jsonrpc") != "2.0" or not isinstance(said.get("method"), str):
        return RpcError(
            INVALID_REQUEST, 'a request must be {"jsonrpc": "2.0", "method": NAME, "params": {…}, "id": ID}'
        )
    number = said.get("id")
    if not _is_id(number):
        return RpcError(INVALID_REQUEST, "an id must be a valid text or a finite number")
    params = said.get("params", {})
    if params in ([], None):
        params = {}
    if not isinstance(params, dict):
        return RpcError(INVALID_PARAMS, "params must be an object")
    return Request(said["method"], params, number, "id" not in said)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _is_id(said: Any) -> bool:
    """Whether an answer can name it: a half of a surrogate pair is no character, and infinity is no number of JSON."""
    if isinstance(said, str):
        return not any("\ud800" <= character <= "\udfff" for character in said)
    if isinstance(said, float):
        return math.isfinite(said)
    return said is None or (isinstance(said, int) and not isinstance(said, bool))


def result_of(request: Request, result: Any) -> dict[str, Any]:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


def failure(error: RpcError, number: Id = None) -> dict[str, Any]:
    """The answer to a request that cannot be carried out; `number` is its id, None where it is unknown."""
    message = error.message if len(error.message) <= _MOST_CHARS else f"{error.message[:_MOST_CHARS]}…"
    told: dict[str, Any] = {"code": error.code, "message": scrubbed(message)}
    if error.status is not None:
        told["data"] = {"status": error.status}
    return {"jsonrpc": "2.0", "id": number, "error": told}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a client is told without having asked."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def error_of(error: EngineError) -> RpcError:
    """An error of the engine as a client gets it: malformed arguments are `INVALID_PARAMS`, any other is `REFUSED`."""
    code = INVALID_PARAMS if isinstance(error, ValidationError) else REFUSED
    return RpcError(code, error.message, error.status)


def unforeseen(error: Exception, where: str) -> RpcError:
    """An error that nobody foresaw, in one line; it is logged, with its traceback where ENGINE_DEBUG is set."""
    line = f"{type(error).__name__}: {error}".partition("\n")[0][:_MOST_CHARS]
    logging.getLogger(__name__).error("%s: %s", where, line, exc_info=bool(os.environ.get("ENGINE_DEBUG")))
    return RpcError(INTERNAL, line, 500)


def encoded(message: dict[str, Any] | list[dict[str, Any]]) -> str:
    """A message as it is sent. Halves of surrogate pairs, which UTF-8 has no bytes for, are escaped."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() or _is_utf8(text) else json.dumps(message, separators=(",", ":"))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
