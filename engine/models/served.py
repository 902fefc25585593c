"""Asks a server of the user's own which models it has, for a hint to a person who has named none."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from .providers import Endpoint

_STEP_SECONDS = 2.0
_ALL_SECONDS = 5.0
_MOST_BYTES = 1_000_000
_NAME = re.compile(r"[\w./:@+-]{1,100}")
"""What may stand in a command line as it is; a server's answer is data."""


def served_models(at: Endpoint) -> list[str]:
    """The names `provider/model` of what an OpenAI-compatible server offers, in its order.

    It waits 2 s for each step and 5 s in all, and follows no redirect; empty where the server does not answer or says
    something else.
    """
    try:
        offered = json.loads(_in_time(at))["data"]
        names = [each["id"] for each in offered]
        return [f"{at.provider.name}/{name}" for name in names if isinstance(name, str) and _NAME.fullmatch(name)]
    except (OSError, HTTPException, ValueError, LookupError, TypeError, RecursionError):
        return []


def _in_time(at: Endpoint) -> bytes:
    """What the server says; raises `TimeoutError` where it drips. The thread that asks ends with its connection."""
    url, answers = urlsplit(at.url), list[bytes | Exception]()
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=_STEP_SECONDS)

    def ask() -> None:
        try:
            with closing(connection):
                headers = {"Authorization": f"Bearer {at.key}"} if at.key else {}
                connection.request("GET", f"{url.path.rstrip('/')}/models", headers=headers)
                answers.append(connection.getresponse().read(_MOST_BYTES))
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_ALL_SECONDS)
    if not answers:
        with suppress(OSError, AttributeError):  # it has no socket, or none any more
            connection.sock.shutdown(socket.SHUT_RDWR)
        raise TimeoutError(f"{url.hostname} takes longer than {_ALL_SECONDS:g} s")
    if isinstance(answers[0], Exception):
        raise answers[0]
    return answers[0]


__all__ = ["served_models"]
