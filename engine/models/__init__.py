"""Finds the adapter of a model by the model's name. Each adapter is in a file of its own.

| name | adapter |
|---|---|
| `scripted:FILE` | answers from a file of JSON lines |
| `replay:DB#RUN` | the answers that a run of another engine file recorded, to the same packets |
| `replay:DB#RUN,any` | the same to any packets |
| `local`, `local/smollm2` | a small model in this process, without key or network |
| `gguf:FILE`, `gguf:FILE#TOKENS` | the model of a GGUF file, in this process; its window, else that of its training |
| `provider/name` | a model of openai, anthropic, openrouter, ollama, xai, cerebras or google |
| `http://HOST:PORT/v1#NAME` | a model of a server with OpenAI's API, at this address; it gets no key |
| anything else | the adapter that a plugin returns from the hook `engine_model` |

An adapter and its libraries are imported at the first use of such a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from engine.errors import NotFound

if TYPE_CHECKING:
    from engine.keys.keys import Keys
    from engine.models.protocol import Model

_FAMILIES = {"gpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude-": "anthropic"}
_FAMILIES |= {"gemini-": "google", "grok-": "xai"}
"""The providers of models whose names begin so, for the advice where a name lacks its provider."""
LOCAL_NAMES = ("local", "local/smollm2")


def resolve_model(name: str, keys: Keys | None = None) -> Model:
    """The model with this name; a provider's gets its key of `keys`, else of the environment.

    Raises `NotFound` (404) for a name of no known form and for a missing file, `ValidationError` (400) for a file that holds
    no model, `ModelError` (auth, 401) where there is no key for the provider, and `EngineError` (500) where the provider
    libraries are not installed.
    """
    if name.startswith("scripted:") and (path := name.removeprefix("scripted:")):
        from engine.models.scripted import ScriptedModel

        return ScriptedModel(path)
    if name.startswith("replay:"):
        path, _, run = name.removeprefix("replay:").rpartition("#")
        if path and run:
            from engine.models.replay import ReplayModel

            return ReplayModel(path, run)
    if name in LOCAL_NAMES:
        from engine.models.local import LocalModel

        return LocalModel()
    if name.startswith("gguf:"):
        from engine.models.gguf import window_of
        from engine.models.local import LocalModel

        window_of(name)
        return LocalModel(name)
    return _remote(name, keys) or _from_plugin(name)


def _remote(name: str, keys: Keys | None) -> Model | None:
    from engine.keys.providers import PROVIDERS
    from engine.models.addresses import is_address

    if is_address(name):
        from engine.models.remote import RemoteModel

        return RemoteModel.of_address(name)
    provider, _, model = name.partition("/")
    if provider not in PROVIDERS or not model:
        return None
    from engine.models.remote import RemoteModel

    return RemoteModel(provider, model, keys)


def _from_plugin(name: str) -> Model:
    from difflib import get_close_matches

    from engine import plugins
    from engine.keys.providers import PROVIDERS

    found = plugins.model(name)
    if found is None:
        if provider := next((each for head, each in _FAMILIES.items() if name.lower().startswith(head)), None):
            raise NotFound(f"model {name!r}: its provider is missing; write {provider}/{name}")
        if name in PROVIDERS:
            raise NotFound(
                f"model {name!r}: this provider has no default model; choose {name}/NAME ('engine models list "
                f"{name}' lists the names), or set {name}_model"
            )
        provider, mark, rest = name.partition("/")
        if mark and rest and (near := get_close_matches(provider, PROVIDERS, 1)):
            raise NotFound(f"model {name!r}: there is no provider {provider!r}; did you mean {near[0]}/{rest}?")
        known = ", ".join(f"{each}/NAME" for each in PROVIDERS)
        raise NotFound(
            f"model {name!r}: not found; 'engine models' lists the aliases; a model without an alias is written "
            f"local, gguf:FILE, scripted:FILE, replay:DB#RUN, http://HOST:PORT/v1#NAME, {known}"
        )
    return cast("Model", found)
