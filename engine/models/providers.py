"""Where calls of a provider of models go, and with which key."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from engine.errors import EngineError
from engine.keys.keys import Keys
from engine.keys.providers import Provider
from engine.models.protocol import ModelError


@dataclass(frozen=True)
class Endpoint:
    """Where calls of `provider` go: the address, whether it is the provider's own, and the key.

    No message shows the key, nor a user and password in the address.
    """

    provider: Provider
    url: str = field(repr=False)
    is_own: bool
    key: str = field(repr=False)


def endpoint(provider: Provider, keys: Keys | None = None) -> Endpoint:
    """The endpoint of a provider: its address comes of the environment alone, its key of `keys`, else of the environment.

    Raises `ModelError` (auth, 401) where there is no key, or one that cannot be sent. A compatible server at another address
    (`OPENAI_BASE_URL`) needs none.
    """
    keys = keys or Keys()
    url = keys.environment.get(provider.url_variable, "").strip().rstrip("/")
    is_own = not url or url == provider.url
    found = keys.find(provider)
    may_lack_key = not provider.needs_key or (provider.name == "openai" and not is_own)
    if not found and not may_lack_key:
        raise ModelError("auth", _how_to_give_one(provider, keys))
    if found and not (found.value.isascii() and found.value.isprintable()):
        raise ModelError(
            "auth",
            f"key of {provider.name}: {found.place} contains no key; a key consists of printable ASCII characters",
        )
    if provider.name == "ollama" and url and not url.endswith("/v1"):
        url += "/v1"  # Ollama's own tools use the address without the path of its OpenAI-compatible API
    return Endpoint(provider, url or provider.url, is_own, found.value if found else "")


def shown_url(at: Endpoint) -> str:
    """The address without user, password and query."""
    scheme, mark, rest = at.url.rpartition("//")
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


def is_local(at: Endpoint, name: str) -> bool:
    """Whether a model runs on a machine of the user's, where no provider charges for it.

    A loopback address is one, and so is Ollama wherever it runs, but for the models that it passes on to its cloud.
    """
    host = _host(at.url)
    if name.lower().endswith(("-cloud", ":cloud")):
        return False
    is_ollama = at.provider.name == "ollama" and not (host == "ollama.com" or host.endswith(".ollama.com"))
    return is_ollama or host == "localhost" or host.endswith(".localhost") or _is_loopback(host)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _how_to_give_one(provider: Provider, keys: Keys) -> str:
    advice = f"set {' or '.join(provider.keys)}" + (f", or run: engine keys set {provider.name}" if keys.files else "")
    return "; ".join([f"no key for {provider.name}: {advice}", *keys.passed_over()])


def missing_library() -> EngineError:
    """The error where the provider libraries are not installed."""
    from engine.system.installing import how_to_install

    return EngineError(f"the provider libraries are not installed; run: {how_to_install('models')}")
