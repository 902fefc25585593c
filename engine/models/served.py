"""Asks a server of the user's own which models it has, for a hint to a person who has named none."""

from __future__ import annotations

import json
import re
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from .providers import Endpoint

_SECONDS = 2.0
_MOST_BYTES = 1_000_000
_NAME = re.compile(r"[\w./:@+-]{1,100}")
"""What may stand in a command line as it is; a server's answer is data."""


def served_models(at: Endpoint) -> list[str]:
    """The names `provider/model` of what an OpenAI-compatible server offers, in its order.

    It waits 2 s for each step and follows no redirect; empty where the server does not answer or says something else.
    """
    try:
        offered = json.loads(_asked(at))["data"]
        names = [each["id"] for each in offered]
        return [f"{at.provider.name}/{name}" for name in names if isinstance(name, str) and _NAME.fullmatch(name)]
    except (OSError, HTTPException, ValueError, LookupError, TypeError, RecursionError):
        return []


def _asked(at: Endpoint) -> bytes:
    url = urlsplit(at.url)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    with closing(kind(url.hostname or "", url.port, timeout=_SECONDS)) as connection:
        headers = {"Authorization": f"Bearer {at.key}"} if at.key else {}
        connection.request("GET", f"{url.path.rstrip('/')}/models", headers=headers)
        return connection.getresponse().read(_MOST_BYTES)


__all__ = ["served_models"]
