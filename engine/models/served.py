"""Asks a provider, or a server of the user's own, which models it offers.

spec: @model_names
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from .protocol import ModelError, category_of_status, is_count
from .providers import Endpoint, shown_url

_STEP_SECONDS = 2.0
_ALL_SECONDS = 5.0
_MOST_BYTES = 1_000_000
_PATIENT = 6
"""How many times as long, and as much, a person who asks for the list waits for and gets."""
_NAME = re.compile(r"[\w./:@+-]{1,100}")
"""What may stand in a command line as it is; a server's answer is data."""
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
_MILLION = 1_000_000
_Offer = dict[str, Any]


@dataclass(frozen=True)
class _Reply:
    """What a server said: its status and the beginning of its body."""

    status: int
    body: bytes


def served_models(at: Endpoint, patience: float = 1) -> list[str] | None:
    """The names `provider/model` of what an OpenAI-compatible server offers, in its order, for a hint.

    It waits `patience` times 2 s for each step and 5 s in all, and follows no redirect. None where the server does not
    answer or says something else.
    """
    try:
        return [offer["model"] for offer in _offers(at, _in_time(at, patience))]
    except (OSError, HTTPException, ValueError, LookupError, TypeError, RecursionError):
        return None


def offered_models(at: Endpoint) -> list[_Offer]:
    """What a provider offers, sorted by name: `model` (provider/name), `context_length` in tokens, `price` as IN/OUT in US
    dollars per million tokens; None where it says nothing of that.

    Raises `ModelError`: the status that it refuses with, gateway where it cannot be reached, server for no list of models.
    """
    who = f"{at.provider.name} at {shown_url(at)}"
    try:
        reply = _in_time(at, _PATIENT)
    except (OSError, HTTPException, ValueError) as error:
        said = isinstance(error, OSError) and (error.strerror or str(error))
        why = said or f"it does not answer with HTTP ({type(error).__name__})"
        advice = f"check that it runs, and {at.provider.url_variable}"
        raise ModelError("gateway", f"{who} cannot be asked for its models: {why}; {advice}") from None
    if reply.status != 200:
        category = category_of_status(reply.status)
        why = "it rejects the key" if category == "auth" else f"it answers with status {reply.status}"
        raise ModelError(category, f"{who} does not list its models: {why}")
    try:
        return sorted(_offers(at, reply), key=lambda offer: str(offer["model"]))
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ModelError("server", f"{who} does not list its models: its answer is not a list of models") from None


def _offers(at: Endpoint, reply: _Reply) -> list[_Offer]:
    found = json.loads(reply.body)["data"]
    rows = [each for each in found if isinstance(each["id"], str) and _NAME.fullmatch(each["id"])]
    return [
        {
            "model": f"{at.provider.name}/{row['id'].removeprefix('models/')}",
            "context_length": next((row[name] for name in _WINDOWS if is_count(row.get(name))), None),
            "price": _price(row.get("pricing")),
        }
        for row in rows
    ]


def _price(stated: Any) -> str | None:
    """A price that is stated for one token, as text; -1 stands for one that varies."""
    if not isinstance(stated, Mapping):
        return None
    try:
        each = [float(stated[name]) * _MILLION for name in ("prompt", "completion")]
    except (LookupError, ValueError, TypeError):
        return None
    return "/".join(f"{dollars:.6g}" for dollars in each) if all(0 <= dollars < _MILLION for dollars in each) else None


def _headers(at: Endpoint) -> dict[str, str]:
    if at.provider.name == "anthropic":
        return {"x-api-key": at.key, "anthropic-version": "2023-06-01"}
    return {"Authorization": f"Bearer {at.key}"} if at.key else {}


def _in_time(at: Endpoint, patience: float) -> _Reply:
    """What the server says; raises `TimeoutError` where it drips. The thread that asks ends with its connection."""
    url, answers = urlsplit(at.url), list[_Reply | Exception]()
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=_STEP_SECONDS * patience)
    path = "/v1/models?limit=1000" if at.provider.name == "anthropic" else "/models"

    def ask() -> None:
        try:
            with closing(connection):
                connection.request("GET", url.path.rstrip("/") + path, headers=_headers(at))
                response = connection.getresponse()
                answers.append(_Reply(response.status, response.read(int(_MOST_BYTES * patience))))
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_ALL_SECONDS * patience)
    if not answers:
        with suppress(OSError, AttributeError):  # it has no socket, or none any more
            connection.sock.shutdown(socket.SHUT_RDWR)
        raise TimeoutError(f"the answer takes longer than {_ALL_SECONDS * patience:g} s")
    if isinstance(answers[0], Exception):
        raise answers[0]
    return answers[0]


__all__ = ["offered_models", "served_models"]
