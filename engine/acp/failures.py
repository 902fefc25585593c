"""What a client is told of a failure: a JSON-RPC error with one line."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from acp import RequestError

from engine.errors import EngineError

_P = ParamSpec("_P")
_T = TypeVar("_T")

AUTH_REQUIRED = -32000
"""The code of an error for a client without a model."""
_CODES = {400: -32602, 401: AUTH_REQUIRED, 404: -32002, 413: -32602, 415: -32602}
"""JSON-RPC codes by status: invalid params, authentication required, resource not found; any other is an internal error."""
_INTERNAL = -32603


def request_error(error: EngineError) -> RequestError:
    """The error that a client gets for one of the engine: its line, and its status as data."""
    return RequestError(_CODES.get(error.status, _INTERNAL), error.message, {"status": error.status})


def told(method: Callable[_P, Awaitable[_T]]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """A method of the agent whose failures are told in one line; what nobody foresaw is logged too."""

    @functools.wraps(method)
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await method(*args, **kwargs)
        except EngineError as error:
            raise request_error(error) from error
        except RequestError:
            raise
        except ConnectionError as error:
            raise RequestError(_INTERNAL, "the client has disconnected") from error
        except Exception as error:
            logging.getLogger(__name__).error("%s", error, exc_info=bool(os.environ.get("ENGINE_DEBUG")))
            first = str(error).partition("\n")[0][:300]
            raise RequestError(_INTERNAL, f"{type(error).__name__}: {first}", {"status": 500}) from error

    return call
