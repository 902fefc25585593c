"""The providers of models named `provider/name`: their addresses, and the variables that configure them."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from engine.config.keys import Keys
from engine.errors import EngineError
from engine.models.protocol import ModelError


@dataclass(frozen=True)
class Provider:
    """A provider: the variables that may hold its key, the variable of its address, and its default address."""

    name: str
    keys: tuple[str, ...]
    url_variable: str
    url: str
    needs_key: bool = True


PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("openai", ("OPENAI_API_KEY",), "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        Provider("anthropic", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        Provider("openrouter", ("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
        Provider("ollama", ("OLLAMA_API_KEY",), "OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1", needs_key=False),
        Provider("xai", ("XAI_API_KEY",), "XAI_BASE_URL", "https://api.x.ai/v1"),
        Provider("cerebras", ("CEREBRAS_API_KEY",), "CEREBRAS_BASE_URL", "https://api.cerebras.ai/v1"),
        Provider(
            "google",
            ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            "GOOGLE_BASE_URL",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
    )
}


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
        raise ModelError("auth", f"key of {provider.name}: {found.place} holds no key: a key is printable ASCII")
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
    from engine.config.installing import how_to_install

    return EngineError(f"the provider libraries are not installed; run: {how_to_install('models')}")
