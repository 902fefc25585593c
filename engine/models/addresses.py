"""Models of a server that is named by its address: `http://127.0.0.1:1234/v1#MODEL`.

LM Studio, vLLM, llama.cpp and the like serve OpenAI's API. The address stands in the name, and a name may come from anybody:
so no key ever goes there.

spec: @model_addresses
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engine.errors import ValidationError
from engine.keys.providers import Provider

from .providers import Endpoint

if TYPE_CHECKING:
    from urllib.parse import SplitResult

SCHEMES = ("http://", "https://")
_MODEL = re.compile(r"[\w][\w./:@+-]{0,199}")
_SERVER = "server"


def is_address(name: str) -> bool:
    """Whether the name of a model begins as one of a server does."""
    return name.lower().startswith(SCHEMES)


def joined(base_url: str, model: str) -> str:
    """The name of a model of a server. Raises `ValidationError` (400) for what is no address, or no name."""
    name = f"{base_url.strip().rstrip('/')}#{model}"
    parted(name)
    return name


def parted(name: str) -> tuple[Endpoint, str]:
    """Where the calls for a name go, and what the model is called there; raises `ValidationError` (400)."""
    url, _, model = name.partition("#")
    parts = _split(url)
    if parts is None or not parts.hostname:
        raise ValidationError(f"model {name!r}: {url!r} is not an address; write http://HOST:PORT/v1#MODEL")
    if parts.username is not None or parts.query:
        raise ValidationError(
            f"model {name!r}: the address must not contain a user, password or query, because it is stored and "
            "shown; set OPENAI_BASE_URL and OPENAI_API_KEY, and use openai/MODEL"
        )
    if not _MODEL.fullmatch(model):
        raise ValidationError(f"model {name!r}: the name of the model on the server is missing; write {url}#MODEL")
    return at(url.rstrip("/")), model


def at(url: str) -> Endpoint:
    """The endpoint of a server at an address; it gets no key."""
    return Endpoint(Provider(_SERVER, (), "", url, needs_key=False), url, False, "")


def _split(url: str) -> SplitResult | None:
    """The parts of an address; None for what is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if is_address(url) and url.isascii() and url.isprintable() and " " not in url else None
